// Reads questions as JSON from its input and answers each with a line of JSON: what
// apiextensions' own validation says of a CRD, or which texts a pattern matches.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type question struct {
	CRD     json.RawMessage `json:"crd"`
	Old     json.RawMessage `json:"old"`
	Pattern *string         `json:"pattern"`
	Texts   []string        `json:"texts"`
}

type cause struct {
	Field  string `json:"field"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

type answer struct {
	Error   string  `json:"error,omitempty"`
	Causes  []cause `json:"causes,omitempty"`
	Matches []bool  `json:"matches,omitempty"`
}

func main() {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder(apiextensions.SchemeGroupVersion)
	strategy := customresourcedefinition.NewStrategy(scheme)
	read := func(data []byte) (*apiextensions.CustomResourceDefinition, error) {
		obj, _, err := decoder.Decode(data, nil, nil)
		if err != nil {
			return nil, err
		}
		return obj.(*apiextensions.CustomResourceDefinition), nil
	}
	ask := func(q question) (a answer) {
		// Validation itself fails on a few schemas; a server answers 500 then.
		defer func() {
			if failed := recover(); failed != nil {
				a = answer{Error: fmt.Sprint(failed)}
			}
		}()
		if q.Pattern != nil {
			found, err := regexp.Compile(*q.Pattern)
			if err != nil {
				return answer{Error: err.Error()}
			}
			for _, text := range q.Texts {
				a.Matches = append(a.Matches, found.MatchString(text))
			}
			return a
		}
		crd, err := read(q.CRD)
		if err != nil {
			return answer{Error: err.Error()}
		}
		ctx := context.Background()
		var wrong field.ErrorList
		if q.Old == nil {
			strategy.PrepareForCreate(ctx, crd)
			wrong = strategy.Validate(ctx, crd)
		} else {
			old, err := read(q.Old)
			if err != nil {
				return answer{Error: err.Error()}
			}
			strategy.PrepareForUpdate(ctx, crd, old)
			wrong = strategy.ValidateUpdate(ctx, crd, old)
		}
		for _, one := range wrong {
			a.Causes = append(a.Causes, cause{one.Field, string(one.Type), one.Error()})
		}
		return a
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	questions := json.NewDecoder(in)
	answers := json.NewEncoder(out)
	for questions.More() {
		var q question
		if err := questions.Decode(&q); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := answers.Encode(ask(q)); err != nil {
			os.Exit(1)
		}
	}
}
