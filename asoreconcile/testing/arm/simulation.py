"""The state that all parts of one simulated Azure share."""

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.testing.arm.faults import ArmFaults
from asoreconcile.testing.arm.lag import Lag
from asoreconcile.testing.arm.listing import ListHandler
from asoreconcile.testing.arm.monitors import MonitorRegistry
from asoreconcile.testing.arm.operations import Operations
from asoreconcile.testing.arm.policies import Policies
from asoreconcile.testing.arm.providers import Providers
from asoreconcile.testing.arm.resources import Resources
from asoreconcile.testing.arm.scopes import Scopes
from asoreconcile.testing.arm.styles import Styles
from asoreconcile.testing.arm.tenants import Tenants
from asoreconcile.testing.arm.throttling import Throttling
from asoreconcile.testing.arm.type_checks import TypeChecks
from asoreconcile.testing.arm.vaults import SoftDeletedVaults
from asoreconcile.testing.arm.views import Views


@attrs.frozen
class Simulation:
    """The shared state of a server's parts. The server's lock guards all of it."""

    tenant_id: str
    clock: Clock
    styles: Styles
    resources: Resources
    views: Views
    operations: Operations
    monitors: MonitorRegistry
    scopes: Scopes
    faults: ArmFaults
    lag: Lag
    listing: ListHandler
    providers: Providers
    tenants: Tenants
    throttling: Throttling | None = None
    policies: Policies = attrs.field(factory=Policies)
    vaults: SoftDeletedVaults = attrs.field(factory=SoftDeletedVaults)
    type_checks: TypeChecks | None = None
