{{/* Every object's name begins like ASO's, so that an upgrade in place finds it. */}}

{{- define "asoreconcile.labels" -}}
app.kubernetes.io/name: asoreconcile
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* ASO's selector: a Deployment's cannot be changed. */}}
{{- define "asoreconcile.selector" -}}
control-plane: controller-manager
{{- end }}

{{- define "asoreconcile.mode" -}}
{{ .Values.azureOperatorMode | default "watchers-and-webhooks" | lower }}
{{- end }}

{{/* "true" or "": does it reconcile? does it answer webhooks and see to CRDs? */}}
{{- define "asoreconcile.watches" -}}
{{- if ne (include "asoreconcile.mode" .) "webhooks" }}true{{ end }}
{{- end }}

{{/* Where nobody can look into the cluster, as with `helm template`, objects may still need
conversion: the port stays. */}}
{{- define "asoreconcile.answers" -}}
{{- if ne (include "asoreconcile.mode" .) "watchers" }}
{{- if or .Values.webhook.enable (not (lookup "v1" "Namespace" "" "kube-system")) }}true{{ end }}
{{- end }}
{{- end }}

{{- define "asoreconcile.managesCRDs" -}}
{{- if and .Values.installCRDs (eq .Values.crdManagement "auto") (ne (include "asoreconcile.mode" .) "watchers") }}true{{ end }}
{{- end }}

{{/* It writes into CRDs at all: also whom to trust, of a certificate of its own making. */}}
{{- define "asoreconcile.writesCRDs" -}}
{{- if or (include "asoreconcile.managesCRDs" .) (and (include "asoreconcile.answers" .) (not (include "asoreconcile.webhookSecret" .))) }}true{{ end }}
{{- end }}

{{/* One of several tenants: what the cluster has once is another release's. */}}
{{- define "asoreconcile.tenant" -}}
{{- if and .Values.multitenant.enable (eq (include "asoreconcile.mode" .) "watchers") }}true{{ end }}
{{- end }}

{{/* What tells cluster-wide bindings of several releases apart. */}}
{{- define "asoreconcile.suffix" -}}
{{- if .Values.multitenant.enable }}-{{ .Release.Namespace }}{{ end }}
{{- end }}

{{- define "asoreconcile.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default "azureserviceoperator-default" }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "asoreconcile.subjects" -}}
- kind: ServiceAccount
  name: {{ include "asoreconcile.serviceAccount" . | quote }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "asoreconcile.webhookSecret" -}}
{{- if .Values.webhook.certManager }}
{{- .Values.webhook.certSecret | default "webhook-server-cert" }}
{{- else }}
{{- .Values.webhook.certSecret }}
{{- end }}
{{- end }}

{{/* The image; never ASO's own, which values of its release may name. */}}
{{- define "asoreconcile.image" -}}
{{- $image := tpl .Values.image.repository . }}
{{- $name := regexReplaceAll "[:@].*$" (last (splitList "/" $image)) "" }}
{{- /* A tag of ASO's beside our name is of ASO's values; an image of one's own may be tagged so. */}}
{{- $tag := .Values.image.tag | default "" }}
{{- if or (eq $name "azureserviceoperator") (and (hasPrefix "v2." $tag) (eq $image (printf "asoreconcile:%s" $tag))) }}
{{- fail (printf "\nthe image %s is Azure Service Operator's own: set image.repository to the whole reference of an asoreconcile image, and image.tag to \"\"" $image) }}
{{- end }}
{{- $image }}
{{- end }}

{{/* Whether the API server is asked what users may do. */}}
{{- define "asoreconcile.reviews" -}}
{{- if or (and .Values.metrics.enable .Values.metrics.secure) (and .Values.checkSecretAccess .Values.webhook.clientCASecret) }}true{{ end }}
{{- end }}

{{- define "asoreconcile.crdLabels" -}}
{{- if kindIs "slice" .Values.crdLabels }}{{ join "," .Values.crdLabels }}{{ else }}{{ .Values.crdLabels }}{{ end }}
{{- end }}

{{/* The sync periods of single kinds, as the setting writes them. */}}
{{- define "asoreconcile.syncPeriods" -}}
{{- $pairs := list }}
{{- range $kind, $period := .Values.syncPeriods }}{{ $pairs = append $pairs (printf "%s=%s" $kind $period) }}{{ end }}
{{- join "," $pairs }}
{{- end }}

{{/* Settings that are no secrets, as variables: those that have a value. */}}
{{- define "asoreconcile.settings" -}}
{{- $set := dict
  "AZURE_SYNC_PERIOD" .Values.azureSyncPeriod
  "AZURE_USER_AGENT_SUFFIX" .Values.azureUserAgentSuffix
  "AZURE_AUTHORITY_HOST" .Values.azureAuthorityHost
  "AZURE_RESOURCE_MANAGER_ENDPOINT" .Values.azureResourceManagerEndpoint
  "AZURE_RESOURCE_MANAGER_AUDIENCE" .Values.azureResourceManagerAudience
  "AZURE_TARGET_NAMESPACES" (join "," .Values.azureTargetNamespaces)
  "AZURE_OPERATOR_MODE" .Values.azureOperatorMode
  "ALLOW_MULTI_ENV_MANAGEMENT" (ternary "true" "" .Values.allowMultiEnvManagement)
  "ASORECONCILE_CLOUD_HOSTS" (join "," .Values.cloudHosts)
  "DEFAULT_RECONCILE_POLICY" .Values.defaultReconcilePolicy
  "ASORECONCILE_SYNC_MODE" .Values.syncMode
  "ASORECONCILE_UNDECLARED" .Values.undeclared
  "ASORECONCILE_FOREIGN_TAGS" .Values.foreignTags
  "ASORECONCILE_IGNORE_FIELDS" (join "," .Values.ignoreFields)
  "ASORECONCILE_BULK_READS" .Values.bulkReads
  "ASORECONCILE_WAIT_FOR_REFERENCES" (ternary "" "false" .Values.waitForReferences)
  "ASORECONCILE_FORCE_PUT_PERIOD" .Values.forcePutPeriod
  "ASORECONCILE_HOLD_CREDENTIALS" (ternary "true" "" .Values.holdCredentials)
  "ASORECONCILE_CHECK_SECRET_ACCESS" (ternary "true" "" .Values.checkSecretAccess)
  "ASORECONCILE_WIDER_CREDENTIALS" (ternary "true" "" .Values.widerCredentials)
  "AZURE_WORKLOAD_IDENTITY_AUTH_MODE" .Values.workloadIdentityAuthMode
  "ASORECONCILE_SYNC_PERIODS" (include "asoreconcile.syncPeriods" .)
  "ASORECONCILE_GRAPH_ENDPOINT" .Values.graphEndpoint
  "ENTRA_APP_ID" .Values.entraAppID
  "ASORECONCILE_EXTENSIONS" (join "," .Values.extensions)
}}
{{- range $name, $value := $set }}
{{- if $value }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- if .Values.useWorkloadIdentityAuth }}
- name: USE_WORKLOAD_IDENTITY_AUTH
  value: "true"
{{- end }}
{{- with .Values.maxConcurrentReconciles }}
{{- if ne (int64 .) 4 }}
- name: MAX_CONCURRENT_RECONCILES
  value: {{ int64 . | quote }}
{{- end }}
{{- end }}
{{- if eq .Values.rateLimit.mode "bucket" }}
- name: RATE_LIMIT_MODE
  value: bucket
- name: RATE_LIMIT_QPS
  value: {{ $qps := .Values.rateLimit.qps }}{{ ternary (int64 $qps | toString) (toString $qps) (eq (floor $qps) (float64 $qps)) | quote }}
- name: RATE_LIMIT_BUCKET_SIZE
  value: {{ int64 .Values.rateLimit.bucketSize | quote }}
{{- end }}
{{- end }}

{{/* The ports of proxies that extraEnv names, as a list: their addresses are not the chart's to know. */}}
{{- define "asoreconcile.proxyPorts" -}}
{{- $known := dict "http" "80" "https" "443" "socks5" "1080" "socks5h" "1080" }}
{{- range .Values.extraEnv }}
{{- if and (has (upper .name) (list "HTTP_PROXY" "HTTPS_PROXY" "ALL_PROXY")) .value }}
{{- $url := urlParse (ternary .value (printf "http://%s" .value) (contains "://" .value)) }}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (get $known $url.scheme) }}
{{- with $port }}
- {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Values that cannot work together; the schema sees to each alone. */}}
{{- define "asoreconcile.check" -}}
{{- if .Values.aadPodIdentity.enable }}
{{- fail "\naadPodIdentity: Azure has retired pod identity: set useWorkloadIdentityAuth to true, or leave both out for the node's managed identity" }}
{{- end }}
{{- if and .Values.multitenant.enable (eq (include "asoreconcile.mode" .) "watchers-and-webhooks") }}
{{- fail "\nmultitenant.enable needs azureOperatorMode: webhooks for the one release that has the CRDs, watchers for each tenant's" }}
{{- end }}
{{- if and .Values.azureTargetNamespaces (not (include "asoreconcile.watches" .)) }}
{{- fail "\nazureTargetNamespaces needs an azureOperatorMode with watchers" }}
{{- end }}
{{- if not .Values.webhook.enable }}
{{- $converted := list }}
{{- range $crd := (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "").items }}
{{- $service := dig "spec" "conversion" "webhook" "clientConfig" "service" (dict) $crd }}
{{- if and (eq (get $service "namespace") $.Release.Namespace) (eq (get $service "name") "azureserviceoperator-webhook-service") }}
{{- $converted = append $converted $crd.metadata.name }}
{{- end }}
{{- end }}
{{- if $converted }}
{{- fail (printf "\nwebhook.enable: with false nobody could read the objects of %d CRDs, such as %s: their webhook converts them. First set allVersions to false, then run `asoctl clean crds --one-version`" (len $converted) (first $converted)) }}
{{- end }}
{{- end }}
{{- $labels := list "app.kubernetes.io/name" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart" "control-plane" }}
{{- $notes := list "kubectl.kubernetes.io/default-container" "checksum/settings" }}
{{- range $value, $given := dict
  "podLabels" .Values.podLabels
  "metrics.serviceMonitor.labels" .Values.metrics.serviceMonitor.labels
  "metrics.prometheusRule.labels" .Values.metrics.prometheusRule.labels
  "metrics.dashboard.labels" .Values.metrics.dashboard.labels
  "podAnnotations" .Values.podAnnotations
}}
{{- range $key, $_ := $given }}
{{- if has $key (ternary $notes $labels (eq $value "podAnnotations")) }}
{{- fail (printf "\n%s: %s is the chart's own" $value $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $probe := .Values.probes }}
{{- range $key := list "httpGet" "exec" "tcpSocket" "grpc" }}
{{- if hasKey ($probe | default dict) $key }}
{{- fail (printf "\nprobes.%s: %s is the chart's own" $name $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- $ports := dict "8081" "the probes' port" }}
{{- range $value, $port := dict
  "metrics.port" (ternary .Values.metrics.port 0 .Values.metrics.enable)
  "webhook.port" (ternary .Values.webhook.port 0 (eq (include "asoreconcile.answers" .) "true"))
}}
{{- $at := toString (int64 $port) }}
{{- if hasKey $ports $at }}
{{- fail (printf "\n%s: %s is %s, too: give it another one" $value $at (get $ports $at)) }}
{{- else if ne $at "0" }}
{{- $_ := set $ports $at $value }}
{{- end }}
{{- end }}
{{- if .Values.metrics.enable }}
{{- $address := tpl .Values.metrics.address . }}
{{- if not (hasSuffix (printf ":%d" (int64 .Values.metrics.port)) $address) }}
{{- fail (printf "\nmetrics.address: %s is not at metrics.port, %d, which the Service leads to" $address (int64 .Values.metrics.port)) }}
{{- end }}
{{- end }}
{{- $replicas := int64 .Values.replicaCount }}
{{- $budget := .Values.podDisruptionBudget }}
{{- if and $budget.enabled (gt $replicas 1) }}
{{- $least := $budget.minAvailable }}
{{- if kindIs "string" $least }}
{{- $number := int64 (trimSuffix "%" $least) }}
{{- $least = ternary (div (add (mul $number $replicas) 99) 100) $number (hasSuffix "%" $least) }}
{{- end }}
{{- if ge (int64 $least) $replicas }}
{{- fail (printf "\npodDisruptionBudget.minAvailable: %v of replicaCount %d lets no pod go: no node could be drained" $budget.minAvailable $replicas) }}
{{- end }}
{{- end }}
{{- end }}
