package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

var scalars = map[reflect.Type]string{
	reflect.TypeFor[meta.Time]():                               "time",
	reflect.TypeFor[meta.MicroTime]():                          "microtime",
	reflect.TypeFor[resource.Quantity]():                       "quantity",
	reflect.TypeFor[intstr.IntOrString]():                      "intOrString",
	reflect.TypeFor[meta.FieldsV1]():                           "json",
	reflect.TypeFor[runtime.RawExtension]():                    "json",
	reflect.TypeFor[extensions.JSON]():                         "json",
	reflect.TypeFor[extensions.JSONSchemaPropsOrArray]():       "schemaOrSchemas",
	reflect.TypeFor[extensions.JSONSchemaPropsOrBool]():        "schemaOrBool",
	reflect.TypeFor[extensions.JSONSchemaPropsOrStringArray](): "schemaOrStrings",
	reflect.TypeFor[[]byte]():                                  "bytes",
}

type table struct {
	names map[reflect.Type]string
	rows  map[string][]string
}

// messages prints, for each message, a row for each field: number, name in JSON, type. A
// type ends with "!" if Go's JSON keeps an empty value of the field. "-" is the name of a
// message whose fields are fields of the outer object in JSON.
func messages(kinds []schema.GroupVersionKind) {
	found := table{map[reflect.Type]string{}, map[string][]string{}}
	for _, gvk := range kinds {
		obj, err := scheme.Scheme.New(gvk)
		must(err)
		found.take(reflect.TypeOf(obj).Elem(), gvk.Group)
	}
	// JSON schemas are behind types of their own.
	if _, ok := found.rows["CustomResourceDefinition"]; ok {
		found.take(reflect.TypeFor[extensions.JSONSchemaProps](), "")
	}
	must(json.NewEncoder(os.Stdout).Encode(found.rows))
}

func (t *table) take(sort reflect.Type, group string) string {
	if name, ok := t.names[sort]; ok {
		return name
	}
	name := sort.Name()
	if _, taken := t.rows[name]; taken {
		name = group + "/" + name
	}
	if _, taken := t.rows[name]; taken {
		must(fmt.Errorf("two messages are called %s", name))
	}
	t.names[sort] = name
	t.rows[name] = []string{}
	for i := range sort.NumField() {
		field := sort.Field(i)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 2 { // TypeMeta is in the envelope
			continue
		}
		said := strings.Split(field.Tag.Get("json"), ",")
		options := strings.Join(said[1:], ",")
		inner := t.sort(field.Type, group)
		if strings.Contains(options, "inline") {
			said[0] = "-"
		} else if field.Type.Kind() == reflect.Pointer || !strings.Contains(options, "omit") {
			inner += "!"
		} else if field.Type.Kind() == reflect.Struct && !strings.Contains(options, "omitzero") {
			inner += "!"
		}
		t.rows[name] = append(t.rows[name], fmt.Sprintf("%s %s %s", tag[1], said[0], inner))
	}
	return name
}

func (t *table) sort(sort reflect.Type, group string) string {
	if known, ok := scalars[sort]; ok {
		return known
	}
	if _, ok := reflect.PointerTo(sort).MethodByName("Marshal"); ok && sort.Kind() == reflect.Slice {
		return "items"
	}
	switch sort.Kind() {
	case reflect.Pointer:
		return t.sort(sort.Elem(), group)
	case reflect.Slice:
		return "[]" + t.sort(sort.Elem(), group)
	case reflect.Map:
		return "{}" + t.sort(sort.Elem(), group)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32, reflect.Int64:
		return "int"
	case reflect.Float64:
		return "double"
	case reflect.Struct:
		return t.take(sort, group)
	}
	must(fmt.Errorf("no type here is like %s", sort))
	return ""
}
