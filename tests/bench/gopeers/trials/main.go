// What the comparison page says of controller-runtime, tried: each fact is found out on the
// API server that KUBECONFIG names, and printed as one JSON object.
// tests/docs/test_docs_comparison.py reads it.
package main

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const namespace = "default"

// Counts reconciles by key, and how many of one key ran at once.
type counting struct {
	mutex   sync.Mutex
	running map[string]int
	most    int
	calls   map[string]int
}

func (c *counting) Reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	c.mutex.Lock()
	c.running[req.Name]++
	c.calls[req.Name]++
	c.most = max(c.most, c.running[req.Name])
	c.mutex.Unlock()
	time.Sleep(20 * time.Millisecond)
	c.mutex.Lock()
	c.running[req.Name]--
	c.mutex.Unlock()
	return reconcile.Result{}, nil
}

func (c *counting) of(name string) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.calls[name]
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
}

func newManager(options ctrl.Options) ctrl.Manager {
	options.Metrics = server.Options{BindAddress: "0"}
	made, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)
	must(err)
	return made
}

func eventually(is func() bool) bool {
	for range 200 {
		if is() {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

func controllers(facts map[string]any) {
	made := newManager(ctrl.Options{})
	count := &counting{running: map[string]int{}, calls: map[string]int{}}
	must(made.GetFieldIndexer().IndexField(context.Background(), &corev1.ConfigMap{}, "colour",
		func(found client.Object) []string { return []string{found.GetLabels()["colour"]} }))
	must(ctrl.NewControllerManagedBy(made).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).Complete(count))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- made.Start(ctx) }()
	made.GetCache().WaitForCacheSync(ctx)

	c := made.GetClient()
	stale := 0
	for i := range 20 {
		one := configMap("own-" + string(rune('a'+i)))
		one.Labels = map[string]string{"colour": "blue"}
		must(c.Create(ctx, one))
		if apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(one), configMap(""))) {
			stale++
		}
	}
	facts["own writes that were not seen at once, of 20"] = stale
	facts["index"] = eventually(func() bool {
		list := &corev1.ConfigMapList{}
		must(c.List(ctx, list, client.MatchingFields{"colour": "blue"}))
		return len(list.Items) == 20
	})

	busy := configMap("busy")
	must(c.Create(ctx, busy))
	for range 30 {
		busy.Data = map[string]string{"at": time.Now().String()}
		must(c.Update(ctx, busy))
	}
	eventually(func() bool { return count.of("busy") > 1 })
	facts["one object at once"] = count.most

	owner := configMap("owner")
	must(c.Create(ctx, owner))
	eventually(func() bool { return count.of("owner") > 0 })
	time.Sleep(300 * time.Millisecond)
	before := count.of("owner")
	child := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "child", Namespace: namespace}}
	must(controllerutil.SetControllerReference(owner, child, made.GetScheme()))
	must(c.Create(ctx, child))
	facts["a child wakes its owner"] = eventually(func() bool { return count.of("owner") > before })

	stored := configMap("")
	must(made.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(owner), stored))
	facts["annotations of its own"] = len(stored.Annotations)
	names := map[string]bool{}
	families, err := metrics.Registry.Gather()
	must(err)
	for _, family := range families {
		names[family.GetName()] = true
	}
	facts["metrics"] = names["controller_runtime_reconcile_total"] && names["workqueue_depth"]
	stop()
	must(<-done)
}

// A leader whose lease another takes: what Start answers then.
func leader(facts map[string]any) {
	made := newManager(ctrl.Options{
		LeaderElection: true, LeaderElectionID: "trial", LeaderElectionNamespace: namespace,
		LeaseDuration: ptr.To(2 * time.Second), RenewDeadline: ptr.To(time.Second),
		RetryPeriod: ptr.To(200 * time.Millisecond),
	})
	var leads atomic.Bool
	go func() { <-made.Elected(); leads.Store(true) }()
	done := make(chan error, 1)
	go func() { done <- made.Start(context.Background()) }()
	facts["leads by a Lease"] = eventually(leads.Load)
	direct, err := client.New(made.GetConfig(), client.Options{})
	must(err)
	eventually(func() bool {
		lease := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: namespace, Name: "trial"}
		if direct.Get(context.Background(), key, lease) != nil {
			return false
		}
		lease.Spec.HolderIdentity = ptr.To("somebody else")
		lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
		lease.Spec.LeaseDurationSeconds = ptr.To(int32(3600))
		return direct.Update(context.Background(), lease) == nil
	})
	select {
	case err := <-done:
		facts["who lost the lease"] = err.Error()
	case <-time.After(20 * time.Second):
		facts["who lost the lease"] = "goes on"
	}
}

// A webhook server that nobody gave certificates.
func certificates(facts map[string]any, folder string) {
	made := newManager(ctrl.Options{WebhookServer: webhook.NewServer(webhook.Options{
		Host: "127.0.0.1", Port: 0, CertDir: folder,
	})})
	made.GetWebhookServer().Register("/check", &webhook.Admission{Handler: nil})
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	err := made.Start(ctx)
	facts["webhooks without certificates"] = err != nil
}

func main() {
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	facts := map[string]any{}
	controllers(facts)
	leader(facts)
	certificates(facts, os.Args[1])
	must(json.NewEncoder(os.Stdout).Encode(facts))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
