/** What the clients create. */
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
  readonly data: Record<string, string>;
}

export function configMap(
  name: string,
  data: Record<string, string> = {},
  labels: Record<string, string> = {},
): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels }, data };
}
