"""The operator put together: settings in, a running process out.

What owns what: the manager owns lifetimes; the informers belong to one `Informers`; the
supervisor starts and stops kinds in the `KindSet` as CRDs come and go. Nothing here
decides anything about a resource.
"""

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs
import prometheus_client

from asoreconcile.arm.client import ArmClient
from asoreconcile.arm.credentials import client_secret_credential
from asoreconcile.arm.metrics import ArmMetrics
from asoreconcile.azure.delete import delete_resource
from asoreconcile.azure.dependents import CONFIG_MAP, SECRET, Dependents
from asoreconcile.azure.work import Operator
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.informers import Informers
from asoreconcile.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.catalogue.patterns import match
from asoreconcile.clock import Clock, SystemClock
from asoreconcile.controllers import crds
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.connections import GlobalConnection
from asoreconcile.controllers.kind_set import (
    KindSet,
    RunningKind,
    controller_name,
    reconciler_for,
    resource_of,
    wants_pass,
)
from asoreconcile.controllers.settings import Settings
from asoreconcile.controllers.supervisor import Supervisor
from asoreconcile.controllers.wakeups import Wakeups
from asoreconcile.extensions.registry import builtin_sets
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.events import EventRecorder
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SECRETS,
)
from asoreconcile.log import Logger
from asoreconcile.metrics import RuntimeMetrics
from asoreconcile.middleware.chain import Extensions
from asoreconcile.middleware.terminals import Terminals
from asoreconcile.objects import GroupKind, ObjectKey
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.manager import Manager
from asoreconcile.version import __version__
