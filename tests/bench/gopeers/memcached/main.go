// By controller-runtime what Operator SDK's tutorial makes, and tests/examples/memcached.py:
// a Deployment of its size for each Memcached, a condition, and a finalizer that says
// goodbye with an event. The function and the order of writes are the tutorial's; the
// words are ours. zz_generated.deepcopy.go is controller-gen's.
package main

import (
	"context"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const finalizer = "cache.example.com/finalizer"

type memcacheds struct {
	client.Client
	recorder events.EventRecorder
	image    string
}

func (m *memcacheds) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	done, cache := reconcile.Result{}, &Memcached{}
	if err := m.Get(ctx, req.NamespacedName, cache); err != nil {
		return done, client.IgnoreNotFound(err)
	}
	if cache.DeletionTimestamp != nil {
		return done, m.finalize(ctx, cache)
	}
	if len(cache.Status.Conditions) == 0 {
		if err := m.report(ctx, cache, "Available", metav1.ConditionUnknown, "Reconciling", "not looked at yet"); err != nil {
			return done, err
		}
	}
	if controllerutil.AddFinalizer(cache, finalizer) {
		if err := m.Update(ctx, cache); err != nil {
			return done, err
		}
	}
	found := &appsv1.Deployment{}
	err := m.Get(ctx, req.NamespacedName, found)
	switch {
	case apierrors.IsNotFound(err):
		wanted := m.deployment(cache)
		if err = controllerutil.SetControllerReference(cache, wanted, m.Scheme()); err == nil {
			err = m.Create(ctx, wanted)
		}
		return done, err // its event comes
	case err != nil:
		return done, err
	case *found.Spec.Replicas != cache.Spec.Size:
		found.Spec.Replicas = &cache.Spec.Size
		return done, m.Update(ctx, found)
	}
	message := fmt.Sprintf("a Deployment of %d", cache.Spec.Size)
	return done, m.report(ctx, cache, "Available", metav1.ConditionTrue, "Reconciled", message)
}

func (m *memcacheds) finalize(ctx context.Context, cache *Memcached) error {
	if !controllerutil.ContainsFinalizer(cache, finalizer) {
		return nil
	}
	if err := m.report(ctx, cache, "Degraded", metav1.ConditionUnknown, "Finalizing", "it is deleted"); err != nil {
		return err
	}
	m.recorder.Eventf(cache, nil, "Warning", "Deleting", "Delete", "%s is deleted", cache.Name)
	if err := m.report(ctx, cache, "Degraded", metav1.ConditionTrue, "Finalizing", "all is done"); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(cache, finalizer)
	return client.IgnoreNotFound(m.Update(ctx, cache))
}

func (m *memcacheds) report(
	ctx context.Context, cache *Memcached, kind string, status metav1.ConditionStatus, reason, message string,
) error {
	condition := metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: cache.Generation,
	}
	if !meta.SetStatusCondition(&cache.Status.Conditions, condition) {
		return nil
	}
	return m.Status().Update(ctx, cache)
}

func (m *memcacheds) deployment(cache *Memcached) *appsv1.Deployment {
	labels := map[string]string{
		"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": cache.Name,
	}
	container := corev1.Container{
		Name:    "memcached",
		Image:   m.image,
		Command: []string{"memcached", "--memory-limit=64", "-o", "modern", "-v"},
		Ports:   []corev1.ContainerPort{{Name: "memcached", ContainerPort: cache.Spec.ContainerPort}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			RunAsNonRoot:             ptr.To(true),
		},
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: cache.Name, Namespace: cache.Namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: &cache.Spec.Size,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}
}

func main() {
	ctrl.SetLogger(zap.New())
	options := ctrl.Options{Metrics: server.Options{BindAddress: "0"}}
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)
	must(err)
	scheme := manager.GetScheme()
	scheme.AddKnownTypes(groupVersion, &Memcached{}, &MemcachedList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	image, named := os.LookupEnv("MEMCACHED_IMAGE")
	if !named {
		image = "memcached:1.6-alpine"
	}
	m := &memcacheds{manager.GetClient(), manager.GetEventRecorder("memcached"), image}
	must(ctrl.NewControllerManagedBy(manager).For(&Memcached{}).Owns(&appsv1.Deployment{}).Complete(m))
	must(manager.Start(ctrl.SetupSignalHandler()))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
