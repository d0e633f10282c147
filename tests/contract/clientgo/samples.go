package main

import (
	"bytes"
	"encoding/json"
	"os"
	"time"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

type sample struct {
	Protobuf []byte          `json:"protobuf"`
	JSON     json.RawMessage `json:"json"`
}

// samples prints random objects: the protobuf of each, and the JSON of what Kubernetes'
// own decoder makes of that.
func samples(kinds []schema.GroupVersionKind, seed int64, count int) {
	fill := randfill.NewWithSeed(seed).NilChance(0.5).NumElements(0, 2).MaxDepth(14).Funcs(
		func(found *meta.Time, c randfill.Continue) {
			if c.Bool() {
				*found = meta.Unix(c.Int63n(4e9), 0)
			}
		},
		func(found *meta.MicroTime, c randfill.Continue) {
			if c.Bool() {
				*found = meta.MicroTime{Time: time.Unix(c.Int63n(4e9), c.Int63n(1e9))}
			}
		},
		func(found *resource.Quantity, c randfill.Continue) {
			*found = *resource.NewQuantity(c.Int63n(1<<40), resource.BinarySI)
		},
		func(found *intstr.IntOrString, c randfill.Continue) {
			*found = intstr.FromInt32(c.Int31() - 1<<30)
			if c.Bool() {
				*found = intstr.FromString(c.String(9))
			}
		},
		func(found *meta.FieldsV1, c randfill.Continue) { found.Raw = raw(c) },
		func(found *runtime.RawExtension, c randfill.Continue) { found.Raw = raw(c) },
		func(found *extensions.JSON, c randfill.Continue) { found.Raw = raw(c) },
		func(found *string, c randfill.Continue) { *found = c.String(5) },
	)
	codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	out := json.NewEncoder(os.Stdout)
	for range count {
		for _, gvk := range kinds {
			obj, err := scheme.Scheme.New(gvk)
			must(err)
			fill.Fill(obj)
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			var wire bytes.Buffer
			must(codec.Encode(obj, &wire))
			read, _, err := codec.Decode(wire.Bytes(), nil, nil)
			must(err)
			text, err := json.Marshal(read)
			must(err)
			must(out.Encode(sample{wire.Bytes(), text}))
		}
	}
}

func raw(c randfill.Continue) []byte {
	text, err := json.Marshal(map[string]any{c.String(5): c.Int31(), "b": []any{nil, c.String(3)}})
	must(err)
	return text
}
