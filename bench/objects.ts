/** The objects that the rows create and read; most rows use a pod of 3 KB as clients write it. */

/** Placeholder for the number of the object in paths and bodies; the client replaces it. */
export const NUMBER_MARK = "@@@@@@@@";
export const LIST_NAMESPACE = "bench-list";
export const WRITE_NAMESPACE = "bench-writes";
export const LIST_COUNT = 5_000;

/** Size of an annotation that brings the stored pod close to 3,000 bytes. */
const ANNOTATION_BYTES = 900;

export function podText(namespace: string): string {
  const container = (name: string): object => ({
    name,
    image: `registry.example/team/${name}:v1.42.0`,
    command: ["/bin/serve", "--listen=:8080", "--log-format=json"],
    env: [
      { name: "REGION", value: "eu-central-1" },
      { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
    ],
    ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "500m", memory: "256Mi" } },
    livenessProbe: {
      httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" },
      periodSeconds: 10,
      timeoutSeconds: 1,
      successThreshold: 1,
      failureThreshold: 3,
    },
    volumeMounts: [{ name: "config", mountPath: "/etc/config", readOnly: true }],
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent",
  });
  return JSON.stringify({
    kind: "Pod",
    apiVersion: "v1",
    metadata: {
      name: `pod-${NUMBER_MARK}`,
      namespace,
      labels: { app: "bench", tier: "backend", "app.kubernetes.io/part-of": "evenkeel" },
      annotations: { "bench.example/sequence": NUMBER_MARK, "bench.example/payload": "x".repeat(ANNOTATION_BYTES) },
    },
    spec: {
      volumes: [{ name: "config", configMap: { name: "settings", defaultMode: 420 } }],
      containers: [container("web"), container("sidecar")],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      securityContext: {},
      schedulerName: "default-scheduler",
    },
  });
}

/** A merge patch that changes the pod without changing its size. */
export function touchText(): string {
  return JSON.stringify({ metadata: { annotations: { "bench.example/sequence": NUMBER_MARK } } });
}

export function deploymentName(number: string): string {
  return `web-${number}`;
}

/** A Deployment as users write it: the server applies the defaults. */
export function deploymentText(tag: string): string {
  const labels = { app: "web", "app.kubernetes.io/part-of": "evenkeel" };
  const container = {
    name: "web",
    image: `registry.example/team/web:${tag}`,
    env: [{ name: "REGION", value: "eu-central-1" }],
    ports: [{ name: "http", containerPort: 8080 }],
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
    readinessProbe: { httpGet: { path: "/healthz", port: "http" } },
    volumeMounts: [{ name: "config", mountPath: "/etc/config", readOnly: true }],
  };
  return JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: deploymentName(NUMBER_MARK), labels },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels },
        spec: {
          containers: [container, { name: "sidecar", image: "registry.example/team/sidecar:v1" }],
          volumes: [{ name: "config", configMap: { name: "settings" } }],
        },
      },
    },
  });
}

export const DEVICE_CLASS = "bench-class";

/**
 * A DeviceClass of 3 KB in resource.k8s.io/v1, which is served from 1.34 on, so that an older server proxies requests
 * for it.
 */
export function deviceClassText(): string {
  return JSON.stringify({
    kind: "DeviceClass",
    apiVersion: "resource.k8s.io/v1",
    metadata: { name: DEVICE_CLASS, annotations: { "bench.example/payload": "x".repeat(DEVICE_CLASS_PAYLOAD_BYTES) } },
    spec: { selectors: [{ cel: { expression: 'device.driver == "bench.example"' } }] },
  });
}

const DEVICE_CLASS_PAYLOAD_BYTES = 2_600;

export const CLAIM_NAMESPACE = "bench-claims";
export const CLAIM_PATH = `/apis/resource.k8s.io/v1/namespaces/${CLAIM_NAMESPACE}/resourceclaims`;

/** A ResourceClaim, which 1.34 stores in another version than 1.35. */
export function claimText(): string {
  return JSON.stringify({
    kind: "ResourceClaim",
    apiVersion: "resource.k8s.io/v1",
    metadata: { name: claimName(NUMBER_MARK), namespace: CLAIM_NAMESPACE },
    spec: { devices: { requests: [{ name: "device", exactly: { deviceClassName: DEVICE_CLASS } }] } },
  });
}

export function claimName(number: string): string {
  return `claim-${number}`;
}

export function namespaceText(name: string): string {
  return JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

/** A ConfigMap of a size that is typical of objects that exist in large numbers. */
export function configMapText(owner?: { readonly name: string; readonly uid: string }): string {
  const reference = { apiVersion: "v1", kind: "ConfigMap", ...owner };
  return JSON.stringify({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: {
      name: `settings-${NUMBER_MARK}`,
      ...(owner === undefined ? {} : { ownerReferences: [reference] }),
    },
    data: { "settings.yaml": "level: info\nregion: eu-central-1\n" },
  });
}

export function dataName(number: string): string {
  return `data-${number}`;
}

/** A ConfigMap of 3 KB with 28 keys. */
export function dataText(): string {
  const data = Object.fromEntries(Array.from({ length: 28 }, (_, index) => [`key-${index}`, "x".repeat(90)]));
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: dataName(NUMBER_MARK) }, data });
}
