// By controller-runtime what tests/examples/mirror_config_maps.py does: ConfigMaps with a
// label are copied into the namespaces that have it, copies are kept in line, and those
// whose source went are taken away. Typed objects, from the manager's cache.
package main

import (
	"context"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	label   = "mirror"        // of sources, and of the namespaces that get copies
	origin  = "mirror/source" // the annotation of copies
	byLabel = "mirrored"
)

type mirror struct {
	client.Client
	recorder events.EventRecorder
}

func (m *mirror) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	source := &corev1.ConfigMap{}
	if err := m.Get(ctx, req.NamespacedName, source); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	targets := map[string]bool{}
	if isMirrored(source) && source.DeletionTimestamp == nil {
		namespaces := namespaceList()
		if err := m.List(ctx, namespaces, client.MatchingFields{byLabel: "yes"}); err != nil {
			return reconcile.Result{}, err
		}
		for _, namespace := range namespaces.Items {
			if namespace.Name != source.Namespace {
				targets[namespace.Name] = true
			}
		}
	}
	for target := range targets {
		if err := m.bringInLine(ctx, source, target); err != nil {
			return reconcile.Result{}, err
		}
	}
	copies := &corev1.ConfigMapList{}
	if err := m.List(ctx, copies, client.MatchingFields{origin: req.String()}); err != nil {
		return reconcile.Result{}, err
	}
	for i := range copies.Items {
		one := &copies.Items[i]
		if !targets[one.Namespace] {
			err := m.Delete(ctx, one, client.Preconditions{UID: &one.UID})
			if client.IgnoreNotFound(err) != nil {
				return reconcile.Result{}, err
			}
		}
	}
	return reconcile.Result{}, nil
}

func (m *mirror) bringInLine(ctx context.Context, source *corev1.ConfigMap, target string) error {
	found := &corev1.ConfigMap{}
	err := m.Get(ctx, types.NamespacedName{Namespace: target, Name: source.Name}, found)
	switch {
	case err == nil && maps.Equal(found.Data, source.Data):
		return nil
	case err == nil && found.Annotations[origin] == "":
		m.recorder.Eventf(source, found, "Warning", "NameTaken", "Copy", "%s/%s exists", target, found.Name)
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	wanted := corev1apply.ConfigMap(source.Name, target).
		WithAnnotations(map[string]string{origin: client.ObjectKeyFromObject(source).String()}).
		WithData(source.Data)
	return m.Apply(ctx, wanted, client.FieldOwner("mirror"), client.ForceOwnership)
}

func (m *mirror) allSources(ctx context.Context, _ client.Object) []reconcile.Request {
	sources := &corev1.ConfigMapList{}
	if err := m.List(ctx, sources, client.MatchingFields{byLabel: "yes"}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list sources")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(sources.Items))
	for i := range sources.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sources.Items[i])})
	}
	return requests
}

func toSource(_ context.Context, found client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(found.GetAnnotations()[origin], "/")
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

func isMirrored(found client.Object) bool { return found.GetLabels()[label] == "yes" }

func namespaceList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	return list
}

func main() {
	ctrl.SetLogger(zap.New())
	options := ctrl.Options{Metrics: server.Options{BindAddress: "0"}}
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)
	must(err)
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	labelled := func(found client.Object) []string { return []string{found.GetLabels()[label]} }
	source := func(found client.Object) []string { return []string{found.GetAnnotations()[origin]} }
	ctx, indexer := ctrl.SetupSignalHandler(), manager.GetFieldIndexer()
	must(indexer.IndexField(ctx, &corev1.ConfigMap{}, byLabel, labelled))
	must(indexer.IndexField(ctx, &corev1.ConfigMap{}, origin, source))
	must(indexer.IndexField(ctx, namespace, byLabel, labelled))
	counts := predicate.NewPredicateFuncs(isMirrored)
	counts.UpdateFunc = func(e event.UpdateEvent) bool { return isMirrored(e.ObjectOld) || isMirrored(e.ObjectNew) }
	m := &mirror{manager.GetClient(), manager.GetEventRecorder("mirror")}
	must(ctrl.NewControllerManagedBy(manager).
		For(&corev1.ConfigMap{}, builder.WithPredicates(counts)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(toSource)).
		WatchesMetadata(namespace, handler.EnqueueRequestsFromMapFunc(m.allSources)).
		Complete(m))
	must(manager.Start(ctx))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
