/** Charts that the helm tests install. */
export const TINY_CHART = {
  "Chart.yaml": "apiVersion: v2\nname: tiny\nversion: 0.1.0\nappVersion: '1'\n",
  "values.yaml": "colour: blue\nreplicas: 2\n",
  "templates/all.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  colour: {{ .Values.colour }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: { app: {{ .Release.Name }} }
  template:
    metadata:
      labels: { app: {{ .Release.Name }} }
    spec:
      containers: [{ name: main, image: "nginx:1" }]
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector: { app: {{ .Release.Name }} }
  ports: [{ port: 80 }]
`,
};

/** A chart with most kinds that charts contain. Its values select its content, so that upgrades change it. */
export const WHOLE_CHART = {
  "Chart.yaml": "apiVersion: v2\nname: whole\nversion: 0.2.0\nappVersion: '2'\n",
  "values.yaml": `colour: blue
image: nginx:1
replicas: 2
selected: whole
sidecar: true
metrics: true
budget: true
extra: false
`,
  "templates/config.yaml": `apiVersion: v1
kind: ConfigMap
metadata: { name: whole }
data:
  colour: {{ .Values.colour }}
  looked-up: {{ (lookup "v1" "Namespace" "" "default").metadata.name | default "nothing" }}
---
apiVersion: v1
kind: Secret
metadata: { name: whole, annotations: { helm.sh/resource-policy: keep } }
stringData: { password: secret }
{{- if .Values.extra }}
---
apiVersion: v1
kind: ConfigMap
metadata: { name: extra }
{{- end }}
`,
  "templates/access.yaml": `apiVersion: v1
kind: ServiceAccount
metadata: { name: whole }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: whole }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: [get, list] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: whole }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: whole }
subjects: [{ kind: ServiceAccount, name: whole, namespace: {{ .Release.Namespace }} }]
`,
  "templates/workload.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: { name: whole }
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: { app: {{ .Values.selected }} } }
  template:
    metadata: { labels: { app: {{ .Values.selected }} } }
    spec:
      serviceAccountName: whole
      containers:
        - name: main
          image: {{ .Values.image }}
          env: [{ name: COLOUR, value: {{ .Values.colour }} }]
        {{- if .Values.sidecar }}
        - { name: side, image: "busybox:1" }
        {{- end }}
---
apiVersion: batch/v1
kind: Job
metadata: { name: whole }
spec: { template: { spec: { restartPolicy: Never, containers: [{ name: main, image: "busybox:1" }] } } }
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: whole }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: whole }
  maxReplicas: 5
  metrics: [{ type: Resource, resource: { name: cpu, target: { type: Utilization, averageUtilization: 80 } } }]
{{- if .Values.budget }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: whole }
spec: { minAvailable: 1, selector: { matchLabels: { app: whole } } }
{{- end }}
`,
  "templates/network.yaml": `apiVersion: v1
kind: Service
metadata: { name: whole }
spec:
  selector: { app: whole }
  ports:
    - { name: http, port: 80 }
    {{- if .Values.metrics }}
    - { name: metrics, port: 9090 }
    {{- end }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: whole }
spec:
  rules:
    - host: whole.example
      http: { paths: [{ path: /, pathType: Prefix, backend: { service: { name: whole, port: { name: http } } } }] }
`,
  "templates/hooks.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: prepared
  annotations: { helm.sh/hook: pre-install, helm.sh/hook-weight: "-1" }
---
apiVersion: batch/v1
kind: Job
metadata:
  name: prepare
  annotations: { helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: hook-succeeded }
spec: { template: { spec: { restartPolicy: Never, containers: [{ name: main, image: "busybox:1" }] } } }
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: upgraded
  annotations: { helm.sh/hook: post-upgrade, helm.sh/hook-delete-policy: before-hook-creation }
data: { colour: {{ .Values.colour }} }
`,
};
