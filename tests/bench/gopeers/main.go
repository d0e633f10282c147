// Peers of `hack/bench peers` in Go: client-go's informer and controller-runtime's
// controller, over the same stream of objects as ours. Arguments: informer or controller,
// the server's URL, how many events. Prints a JSON line, as watching/process.py does; the
// time runs from the first event to the last.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type meter struct {
	mutex sync.Mutex
	want  int
	seen  int
	began time.Time
	cpu   float64
	done  chan struct{}
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func (m *meter) event() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.seen == 0 {
		m.began, m.cpu = time.Now(), cpuSeconds()
	}
	m.seen++
	if m.seen == m.want {
		events := float64(m.want - 1)
		seconds, cpu := time.Since(m.began).Seconds(), cpuSeconds()-m.cpu
		fmt.Printf("{\"events_per_second\": %.0f, \"cpu_us_per_event\": %.1f}\n",
			events/seconds, cpu/events*1e6)
		close(m.done)
	}
}

func informer(config *rest.Config, m *meter) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	accounts := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "accounts"}
	watched := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(accounts).Informer()
	_, err = watched.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { m.event() },
		UpdateFunc: func(any, any) { m.event() },
	})
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	go watched.Run(stop)
	<-m.done
	close(stop)
	return nil
}

func controller(config *rest.Config, m *meter) error {
	log.SetLogger(logr.Discard())
	made, err := manager.New(config, manager.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	account := &unstructured.Unstructured{}
	account.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Account"})
	nothing := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		m.event()
		return reconcile.Result{}, nil
	})
	if err := ctrl.NewControllerManagedBy(made).For(account).Named("accounts").Complete(nothing); err != nil {
		return err
	}
	stopping, stop := context.WithCancel(context.Background())
	go func() {
		<-m.done
		stop()
	}()
	return made.Start(stopping)
}

func main() {
	events, err := strconv.Atoi(os.Args[3])
	if err != nil {
		panic(err)
	}
	m := &meter{want: events, done: make(chan struct{})}
	config := &rest.Config{Host: os.Args[2], QPS: -1}
	run := map[string]func(*rest.Config, *meter) error{"informer": informer, "controller": controller}[os.Args[1]]
	if err := run(config, m); err != nil {
		panic(err)
	}
}
