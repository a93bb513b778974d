/** Objects that the client tests create. */
export const WORKLOADS = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: { app: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: main, image: "nginx:1", ports: [{ containerPort: 80 }] }] }
---
apiVersion: v1
kind: Pod
metadata:
  name: alone
  labels: { app: alone }
spec: { containers: [{ name: main, image: "nginx:1" }] }
`;

export interface ConfigMap {
  readonly apiVersion: "v1";
  readonly kind: "ConfigMap";
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  readonly data?: Record<string, string>;
}

export function configMap(
  name: string,
  data: Record<string, string> = {},
  labels: Record<string, string> = {},
): ConfigMap {
  const isEmpty = (map: object): boolean => Object.keys(map).length === 0;
  const metadata = isEmpty(labels) ? { name } : { name, labels };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, ...(isEmpty(data) ? {} : { data }) };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly [field: string]: unknown;
}

/** A Deployment whose pods have the label app=`name`. */
export function deployment(name: string, containers: readonly Container[], spec: object = {}): object {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } }, ...spec },
  };
}

export function service(name: string, ports: readonly object[]): object {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { selector: { app: name }, ports } };
}

/** A List, so that one file can contain several objects. */
export function list(...items: readonly object[]): object {
  return { apiVersion: "v1", kind: "List", items };
}
