// +groupName=typed.example.com
// +versionName=v1
package typed

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// How much it serves.
// +kubebuilder:validation:Enum=small;large
type Tier string

// A port of it.
type Port struct {
	// The name of the port.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Number int64 `json:"number,omitempty"`
	// +optional
	Target *intstr.IntOrString `json:"target,omitempty"`
}

// What is wanted.
type WebsiteSpec struct {
	// The whole name.
	// +kubebuilder:validation:Pattern=`^[a-z0-9.-]+$`
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="is immutable"
	Host string `json:"host"`
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas int64 `json:"replicas"`
	// +kubebuilder:default=small
	// +optional
	Tier Tier `json:"tier,omitempty"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Ports []Port `json:"ports,omitempty"`
	// +listType=set
	// +optional
	Aliases []string `json:"aliases,omitempty"`
	// +listType=atomic
	// +optional
	Order []int64 `json:"order,omitempty"`
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// +optional
	Quota map[string]resource.Quantity `json:"quota,omitempty"`
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
	// +optional
	Every *metav1.Duration `json:"every,omitempty"`
	// +kubebuilder:validation:Format=ipv4
	// +optional
	Address string `json:"address,omitempty"`
	// +optional
	Blob []byte `json:"blob,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Extra *runtime.RawExtension `json:"extra,omitempty"`
	// +structType=atomic
	// +optional
	First *Port `json:"first,omitempty"`
	// +kubebuilder:validation:MultipleOf=2
	// +nullable
	Maybe *int64 `json:"maybe"`
	// +kubebuilder:default=false
	// +optional
	Enabled bool `json:"enabled"`
}

// What there is.
type WebsiteStatus struct {
	// +optional
	Replicas int64 `json:"replicas,omitempty"`
	// +optional
	Selector string `json:"selector,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// A site with a name of its own.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=web;site,categories=all
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.host`,description="Where it is."
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`,priority=1
// +kubebuilder:printcolumn:name="Until",type=date,JSONPath=`.spec.until`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.spec.host`
// +kubebuilder:validation:XValidation:rule="self.spec.tier == 'large' || self.spec.replicas <= 5",message="5 at most if small"
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WebsiteSpec   `json:"spec"`
	Status WebsiteStatus `json:"status,omitempty"`
}
