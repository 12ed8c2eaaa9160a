{{/*
templates/base.yaml calls the helpers that change an object of files/base.yaml. They have no output. Their argument is
(dict "root" $ "object" object "config" data), with the data of the ConfigMap.
*/}}

{{/* Labels that Helm's conventions ask for. */}}
{{- define "waymark.labels" -}}
app.kubernetes.io/part-of: waymark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Not empty when the chart brings the servers. */}}
{{- define "waymark.bundled" -}}
{{- if or .Values.bundled.enabled .Values.demo.enabled }}true{{ end -}}
{{- end }}

{{/* The address of the first account, or nothing. */}}
{{- define "waymark.accountEmail" -}}
{{- .Values.account.email | default (ternary "demo@example.com" "" .Values.demo.enabled) -}}
{{- end }}

{{/* The public address, or nothing when it is unknown. */}}
{{- define "waymark.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{ .Values.publicUrl }}
{{- else if .Values.ingress.host -}}
{{ ternary "https" "http" .Values.ingress.tls.enabled }}://{{ .Values.ingress.host }}
{{- else if .Values.demo.enabled -}}
http://localhost:8081
{{- end -}}
{{- end }}

{{/* The configuration of all processes that follows from the values, as YAML. */}}
{{- define "waymark.config" -}}
{{- $values := .Values }}
{{- $publicUrl := include "waymark.publicUrl" . }}
{{- $config := dict
  "PUBLIC_URL" $publicUrl
  "SHORT_LINK_BASE_URL" $publicUrl
  "MAIL_FROM" $values.mail.from
  "KAFKA_BROKERS" $values.kafka.brokers
  "KAFKA_TLS" (ternary "true" "" $values.kafka.tls)
  "KAFKA_SASL_MECHANISM" $values.kafka.saslMechanism
  "DATABASE_URL" $values.postgresql.url
  "DATABASE_TLS_MODE" $values.postgresql.tlsMode
  "REDIS_URL" $values.redis.url
  "CLICKHOUSE_URL" $values.clickhouse.url
}}
{{- if $values.caCertificates.secretName }}
{{- range $server, $variable := dict
  "postgresql" "DATABASE_TLS_CA_FILE"
  "kafka" "KAFKA_TLS_CA_FILE"
  "redis" "REDIS_TLS_CA_FILE"
  "clickhouse" "CLICKHOUSE_TLS_CA_FILE"
}}
{{- with index $values.caCertificates.keys $server }}
{{- $_ := set $config $variable (printf "/etc/waymark/tls/%s" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- $set := dict }}
{{- if include "waymark.bundled" $ }}
{{- $set = dict
  "KAFKA_PARTITIONS" "12"
  "KAFKA_REPLICATION" "1"
  "KAFKA_BROKERS" "kafka:9092"
  "DATABASE_URL" "postgres://waymark@postgres:5432/waymark"
  "REDIS_URL" "redis://redis:6379"
  "CLICKHOUSE_URL" "http://waymark@clickhouse:8123"
  "SMTP_URL" "smtp://mail:1025"
  "MAIL_FROM" "Waymark <waymark@localhost>"
  "PUBLIC_URL" "http://localhost:8080"
  "SHORT_LINK_BASE_URL" "http://localhost:8080"
}}
{{- end }}
{{- range $variable, $value := $config }}
{{- if $value }}{{ $_ := set $set $variable $value }}{{ end }}
{{- end }}
{{- toYaml (mergeOverwrite $set $values.config) }}
{{- end }}

{{/* The image of an app: (dict "root" $ "app" "ingest-gateway"). */}}
{{- define "waymark.image" -}}
{{- $image := .root.Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end }}{{ $image.prefix }}{{ .app }}
{{- with index $image.digests .app }}@{{ . }}{{ else }}:{{ $image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "waymark.configMap" }}
{{- /* Without the hash of kustomize: pods of the previous version read it when they restart. */}}
{{- $_ := set .object.metadata "name" "waymark-config" }}
{{- $_ := set .object "data" (mergeOverwrite .object.data (include "waymark.config" .root | fromYaml)) }}
{{- end }}

{{/* The pods of a Deployment or Job. "settings" in the argument has `resources` and `priorityClassName`. */}}
{{- define "waymark.pods" }}
{{- $values := .root.Values }}
{{- $template := .object.spec.template }}
{{- $pod := $template.spec }}
{{- $container := first $pod.containers }}
{{- $app := regexReplaceAll "^waymark/(.*):[^:]*$" $container.image "${1}" }}
{{- $_ := set $container "image" (include "waymark.image" (dict "root" .root "app" $app)) }}
{{- with $values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end }}
{{- $_ := set $container "resources" .settings.resources }}
{{- $_ := set $container "envFrom" (list (dict "configMapRef" (dict "name" "waymark-config"))) }}
{{- /* A changed configuration restarts the pods. */}}
{{- $config := .config | required "files/base.yaml must have the ConfigMap before the pods" }}
{{- $checksum := dict "checksum/config" (toYaml $config | sha256sum) }}
{{- $_ := set $template.metadata "annotations" (merge $checksum ($template.metadata.annotations | default dict)) }}
{{- with $values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end }}
{{- with .settings.priorityClassName | default $values.priorityClassName }}
{{- $_ := set $pod "priorityClassName" . }}
{{- end }}
{{- with $values.nodeSelector }}{{ $_ := set $pod "nodeSelector" . }}{{ end }}
{{- with $values.tolerations }}{{ $_ := set $pod "tolerations" . }}{{ end }}
{{- range $volume := $pod.volumes }}
{{- range $source := $volume.projected.sources }}
{{- $name := $source.secret.name }}
{{- if hasPrefix "waymark-database-" $name }}
{{- $name = printf "%s%s" $values.secrets.databasePrefix (trimPrefix "waymark-database-" $name) }}
{{- else }}
{{- $name = index $values.secrets (trimPrefix "waymark-" $name) | required (printf "files/base.yaml names the Secret %s, and the chart has no value for it" $name) }}
{{- end }}
{{- $_ := set $source.secret "name" $name }}
{{- end }}
{{- end }}
{{- with $values.caCertificates.secretName }}
{{- $mount := dict "name" "tls" "mountPath" "/etc/waymark/tls" "readOnly" true }}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts $mount) }}
{{- $_ := set $pod "volumes" (append $pod.volumes (dict "name" "tls" "secret" (dict "secretName" .))) }}
{{- end }}
{{- end }}

{{- define "waymark.deployment" }}
{{- $settings := index .root.Values.apps .object.metadata.name }}
{{- if include "waymark.bundled" .root }}
{{- /* It fits on a small node. */}}
{{- $small := dict "resources" (dict "requests" (dict "cpu" "20m" "memory" "128Mi")) "replicas" 1 }}
{{- $settings = mergeOverwrite (deepCopy $settings) $small }}
{{- $_ := set .object.spec "replicas" 1 }}
{{- else if not $settings.autoscaling.enabled }}
{{- $_ := set .object.spec "replicas" $settings.replicas }}
{{- end }}
{{- $_ := include "waymark.pods" (dict "root" .root "object" .object "config" .config "settings" $settings) }}
{{- end }}

{{- define "waymark.autoscaler" }}
{{- $settings := (index .root.Values.apps .object.metadata.name).autoscaling }}
{{- $_ := set .object.spec "minReplicas" $settings.minReplicas }}
{{- $_ := set .object.spec "maxReplicas" $settings.maxReplicas }}
{{- $_ := set (first .object.spec.metrics).resource.target "averageUtilization" $settings.cpuUtilization }}
{{- end }}

{{- define "waymark.job" }}
{{- $_ := include "waymark.pods" (dict "root" .root "object" .object "config" .config "settings" .root.Values.setup) }}
{{- /* Jobs are immutable, and each upgrade needs its own. Argo CD renders every version as revision 1. */}}
{{- $hash := printf "%d %s" .root.Release.Revision (toJson .object.spec) | sha256sum | trunc 8 }}
{{- $_ := set .object.metadata "name" (printf "%s-%s" .object.metadata.name $hash) }}
{{- end }}

{{/*
The Job that creates the first account, made from that of the migrations, as YAML. It fails until they are applied. Its pods
keep their labels, by which policies allow their connections.
*/}}
{{- define "waymark.accountJob" -}}
{{- $job := deepCopy .object }}
{{- $_ := set $job.metadata "name" "account" }}
{{- $_ := set $job.metadata.labels "app.kubernetes.io/name" "account" }}
{{- /* A day to read the password in its log. */}}
{{- $_ := set $job.spec "ttlSecondsAfterFinished" 86400 }}
{{- $container := first $job.spec.template.spec.containers }}
{{- $_ := set $container "args" (list "account") }}
{{- $account := list (dict "name" "ACCOUNT_EMAIL" "value" (include "waymark.accountEmail" .root)) }}
{{- with .root.Values.account.name }}{{ $account = append $account (dict "name" "ACCOUNT_NAME" "value" .) }}{{ end }}
{{- $_ := set $container "env" (concat $container.env $account) }}
{{- toYaml $job }}
{{- end }}

{{- define "waymark.ingress" }}
{{- $ingress := .root.Values.ingress }}
{{- $_ := set .object.metadata "annotations" (mergeOverwrite .object.metadata.annotations $ingress.annotations) }}
{{- with $ingress.className }}{{ $_ := set $.object.spec "ingressClassName" . }}{{ end }}
{{- with $ingress.host }}{{ $_ := set (first $.object.spec.rules) "host" . }}{{ end }}
{{- if $ingress.tls.enabled }}
{{- $host := required "ingress.tls needs ingress.host" $ingress.host }}
{{- $_ := set .object.spec "tls" (list (dict "hosts" (list $host) "secretName" $ingress.tls.secretName)) }}
{{- end }}
{{- end }}

{{- define "waymark.networkPolicy" }}
{{- $policies := .root.Values.networkPolicies }}
{{- $namespace := get (dict "ingress" $policies.ingressNamespace "metrics" $policies.monitoringNamespace) .object.metadata.name }}
{{- if $namespace }}
{{- $from := first (first .object.spec.ingress).from }}
{{- $_ := set $from.namespaceSelector.matchLabels "kubernetes.io/metadata.name" $namespace }}
{{- end }}
{{- with get (dict "mail" $policies.mail "archive" $policies.archive) .object.metadata.name }}
{{- $rule := first $.object.spec.egress }}
{{- $_ := set $rule "ports" .ports }}
{{- if .cidrs }}{{ $_ := set $rule "to" (include "waymark.egress" . | fromYaml).to }}{{ end }}
{{- end }}
{{- end }}

{{/* The data of a Secret that exists, as YAML: (dict "root" $ "name" "waymark-setup"). */}}
{{- define "waymark.kept" -}}
{{- $secret := lookup "v1" "Secret" .root.Release.Namespace .name | default dict }}
{{- toYaml ($secret.data | default dict) }}
{{- end }}

{{/* A Secret that outlives the release, as the volumes do: (dict "root" $ "name" "waymark-setup" "data" data). */}}
{{- define "waymark.secret" }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ .name }}
  labels:
    {{- include "waymark.labels" .root | nindent 4 }}
  annotations:
    helm.sh/resource-policy: keep
type: Opaque
data:
  {{- toYaml .data | nindent 2 }}
{{- end }}

{{/* A rule of a NetworkPolicy for the `ports` of all `cidrs`, as YAML. */}}
{{- define "waymark.egress" -}}
to:
  {{- range .cidrs }}
  - ipBlock:
      cidr: {{ . | quote }}
  {{- end }}
ports:
  {{- toYaml .ports | nindent 2 }}
{{- end }}
