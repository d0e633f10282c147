package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"time"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var failed bool

func step(name string, err error) {
	if err != nil {
		failed = true
		fmt.Printf("%s: %v\n", name, err)
	}
}

// scenario is a program of client-go with its defaults, protobuf among them: it writes,
// reads, lists and watches built-in kinds and widgets on the server that KUBECONFIG names,
// and prints each step that failed.
func scenario(namespace string) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	client := kubernetes.NewForConfigOrDie(config)
	own := meta.ObjectMeta{Name: "clientgo"}

	factory := informers.NewSharedInformerFactoryWithOptions(
		client, 0, informers.WithNamespace(namespace))
	maps := factory.Core().V1().ConfigMaps().Informer()
	seen := make(chan string, 100)
	_, err = maps.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if found, ok := obj.(*core.ConfigMap); ok && found.Name == own.Name {
				seen <- "added"
			}
		},
		DeleteFunc: func(any) { seen <- "deleted" },
	})
	step("handler", err)
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), maps.HasSynced) {
		step("informer", fmt.Errorf("did not sync"))
	}
	wait := func(what string) {
		for {
			select {
			case found := <-seen:
				if found == what {
					return
				}
			case <-ctx.Done():
				step("informer "+what, ctx.Err())
				return
			}
		}
	}

	made, err := client.CoreV1().ConfigMaps(namespace).Create(
		ctx, &core.ConfigMap{ObjectMeta: own, Data: map[string]string{"a": "b"}}, meta.CreateOptions{})
	step("create a ConfigMap", err)
	if err == nil {
		wait("added")
		made.Data["a"] = "c"
		_, err = client.CoreV1().ConfigMaps(namespace).Update(ctx, made, meta.UpdateOptions{})
		step("update a ConfigMap", err)
		_, err = client.CoreV1().ConfigMaps(namespace).Patch(ctx, own.Name,
			types.StrategicMergePatchType, []byte(`{"data":{"d":"e"}}`), meta.PatchOptions{})
		step("patch a ConfigMap", err)
		found, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, own.Name, meta.GetOptions{})
		step("get a ConfigMap", err)
		if err == nil && (found.Data["a"] != "c" || found.Data["d"] != "e") {
			step("get a ConfigMap", fmt.Errorf("has %v", found.Data))
		}
		step("delete a ConfigMap", client.CoreV1().ConfigMaps(namespace).Delete(
			ctx, own.Name, meta.DeleteOptions{}))
		wait("deleted")
	}

	_, err = client.CoreV1().Secrets(namespace).Create(ctx,
		&core.Secret{ObjectMeta: own, Data: map[string][]byte{"k": []byte("v")}}, meta.CreateOptions{})
	step("create a Secret", err)
	_, err = client.CoreV1().ServiceAccounts(namespace).Create(ctx,
		&core.ServiceAccount{ObjectMeta: own}, meta.CreateOptions{})
	step("create a ServiceAccount", err)
	now, seconds := meta.NowMicro(), int32(15)
	_, err = client.CoordinationV1().Leases(namespace).Create(ctx, &coordination.Lease{
		ObjectMeta: own,
		Spec:       coordination.LeaseSpec{RenewTime: &now, LeaseDurationSeconds: &seconds},
	}, meta.CreateOptions{})
	step("create a Lease", err)
	_, err = client.CoreV1().Events(namespace).Create(ctx, &core.Event{
		ObjectMeta:     own,
		InvolvedObject: core.ObjectReference{Kind: "ConfigMap", Namespace: namespace, Name: "a"},
		Reason:         "Tried", Type: "Normal", Message: "tried",
	}, meta.CreateOptions{})
	step("create an Event", err)
	_, err = client.RbacV1().Roles(namespace).Create(ctx, &rbac.Role{
		ObjectMeta: own,
		Rules:      []rbac.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
	}, meta.CreateOptions{})
	step("create a Role", err)
	labels := map[string]string{"app": "a"}
	half := intstr.FromString("50%")
	pod := core.PodSpec{Containers: []core.Container{{Name: "a", Image: "a",
		Resources: core.ResourceRequirements{
			Limits: core.ResourceList{"memory": resource.MustParse("64Mi")}}}}}
	none := int32(0)
	deployed, err := client.AppsV1().Deployments(namespace).Create(ctx, &apps.Deployment{
		ObjectMeta: own,
		Spec: apps.DeploymentSpec{
			Replicas: &none,
			Strategy: apps.DeploymentStrategy{RollingUpdate: &apps.RollingUpdateDeployment{
				MaxUnavailable: &half}},
			Selector: &meta.LabelSelector{MatchLabels: labels},
			Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}, meta.CreateOptions{})
	step("create a Deployment", err)
	if err == nil {
		memory := deployed.Spec.Template.Spec.Containers[0].Resources.Limits["memory"]
		if *deployed.Spec.Replicas != 0 || memory.String() != "64Mi" ||
			deployed.Spec.Strategy.RollingUpdate.MaxUnavailable.String() != "50%" {
			step("create a Deployment", fmt.Errorf("has %v", deployed.Spec))
		}
		deployed.Status.Replicas = 0
		deployed.Status.ObservedGeneration = deployed.Generation
		_, err = client.AppsV1().Deployments(namespace).UpdateStatus(
			ctx, deployed, meta.UpdateOptions{})
		step("update the status of a Deployment", err)
		scaled, err := client.AppsV1().Deployments(namespace).UpdateScale(ctx, own.Name,
			&autoscaling.Scale{ObjectMeta: own, Spec: autoscaling.ScaleSpec{Replicas: 2}},
			meta.UpdateOptions{})
		step("scale a Deployment", err)
		if err == nil && scaled.Spec.Replicas != 2 {
			step("scale a Deployment", fmt.Errorf("has %d", scaled.Spec.Replicas))
		}
	}
	_, err = client.CoreV1().Services(namespace).Create(ctx, &core.Service{
		ObjectMeta: own,
		Spec: core.ServiceSpec{Selector: labels, Ports: []core.ServicePort{
			{Port: 80, TargetPort: intstr.FromString("web")}}},
	}, meta.CreateOptions{})
	step("create a Service", err)
	_, err = client.BatchV1().Jobs(namespace).Create(ctx, &batch.Job{
		ObjectMeta: own,
		Spec: batch.JobSpec{Template: core.PodTemplateSpec{Spec: core.PodSpec{
			RestartPolicy: core.RestartPolicyNever, Containers: pod.Containers}}},
	}, meta.CreateOptions{})
	step("create a Job", err)
	crds := extensionsclient.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
	one, yes := 1.5, true
	crd := &extensions.CustomResourceDefinition{
		ObjectMeta: meta.ObjectMeta{Name: "gophers." + namespace + ".example.com"},
		Spec: extensions.CustomResourceDefinitionSpec{
			Group: namespace + ".example.com", Scope: extensions.NamespaceScoped,
			Names: extensions.CustomResourceDefinitionNames{
				Plural: "gophers", Singular: "gopher", Kind: "Gopher", ListKind: "GopherList"},
			Versions: []extensions.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &extensions.CustomResourceValidation{
					OpenAPIV3Schema: &extensions.JSONSchemaProps{
						Type: "object",
						Properties: map[string]extensions.JSONSchemaProps{
							"spec": {Type: "object", XPreserveUnknownFields: &yes},
							"size": {Type: "number", Minimum: &one,
								Default: &extensions.JSON{Raw: []byte("2")}},
							"list": {Type: "array", Items: &extensions.JSONSchemaPropsOrArray{
								Schema: &extensions.JSONSchemaProps{Type: "string"}}},
							"map": {Type: "object",
								AdditionalProperties: &extensions.JSONSchemaPropsOrBool{
									Allows: true,
									Schema: &extensions.JSONSchemaProps{Type: "integer"}}},
						},
					}},
			}},
		},
	}
	_, err = crds.Create(ctx, crd, meta.CreateOptions{})
	step("create a CRD", err)
	kept, err := crds.Get(ctx, crd.Name, meta.GetOptions{})
	step("get a CRD", err)
	if err == nil && !reflect.DeepEqual(kept.Spec.Versions, crd.Spec.Versions) {
		step("get a CRD", fmt.Errorf("has %v", kept.Spec.Versions))
	}
	step("delete a CRD", crds.Delete(ctx, crd.Name, meta.DeleteOptions{}))
	listed, err := client.AppsV1().Deployments(namespace).List(ctx, meta.ListOptions{})
	step("list Deployments", err)
	if err == nil && len(listed.Items) != 1 {
		step("list Deployments", fmt.Errorf("has %d", len(listed.Items)))
	}

	widgets := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{
		Group: "contract.example.com", Version: "v1", Resource: "widgets"}).Namespace(namespace)
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "contract.example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": own.Name}, "spec": map[string]any{},
	}}
	_, err = widgets.Create(ctx, widget, meta.CreateOptions{})
	step("create a Widget", err)
	_, err = widgets.Apply(ctx, own.Name, widget, meta.ApplyOptions{FieldManager: "clientgo", Force: true})
	step("apply a Widget", err)
	step("delete Widgets", widgets.DeleteCollection(ctx, meta.DeleteOptions{}, meta.ListOptions{}))
	if failed {
		os.Exit(1)
	}
}
