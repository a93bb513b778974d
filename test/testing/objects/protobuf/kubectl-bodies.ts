/**
 * Request bodies in protobuf that kubectl 1.32 sent, and the same objects in JSON (from --dry-run=client -o json),
 * without the null `creationTimestamp`.
 */
import type { JsonObject } from "../../../../src/meta/json.ts";

export const KUBECTL_BODIES: readonly {
  readonly command: string;
  readonly hex: string;
  readonly object: JsonObject;
}[] = [
  {
    command: "create configmap demo --from-literal=a=1 --from-literal=b= --from-file=blob=blob.bin",
    hex:
      "6b3873000a0f0a0276311209436f6e6669674d617012340a140a0464656d6f12001a0022002a0032003800420012060a0161" +
      "12013112050a016212001a0d0a04626c6f62120562696e00ff1a002200",
    object: {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: "demo" },
      data: { a: "1", b: "" },
      binaryData: { blob: "YmluAP8=" },
    },
  },
  {
    command: "create deployment web --image=nginx:1.27 --replicas=0 --port=80",
    hex:
      "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412bd010a1f0a0377656212001a0022002a003200380042" +
      "005a0a0a036170701203776562128b010800120c0a0a0a0361707012037765621a710a1c0a0012001a0022002a0032003800" +
      "42005a0a0a036170701203776562125112330a056e67696e78120a6e67696e783a312e32372a00320a0a001000185022002a" +
      "0042006a007200800100880100900100a201001a00320042004a0052005800600068008201008a01009a0100c2010022020a" +
      "00280038001a0c0800100018002000280038001a002200",
    object: {
      kind: "Deployment",
      apiVersion: "apps/v1",
      metadata: { name: "web", labels: { app: "web" } },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "nginx", image: "nginx:1.27", ports: [{ containerPort: 80 }], resources: {} }] },
        },
        strategy: {},
      },
      status: {},
    },
  },
  {
    command: "create clusterrole agg --aggregation-rule=a=b",
    hex:
      "6b3873000a2b0a1c726261632e617574686f72697a6174696f6e2e6b38732e696f2f7631120b436c7573746572526f6c6512" +
      "210a130a0361676712001a0022002a003200380042001a0a0a080a060a01611201621a002200",
    object: {
      kind: "ClusterRole",
      apiVersion: "rbac.authorization.k8s.io/v1",
      metadata: { name: "agg" },
      rules: null,
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
    },
  },
  {
    command: "create cronjob tick --image=busybox --schedule='*/5 * * * *' -- date",
    hex:
      "6b3873000a130a0862617463682f7631120743726f6e4a6f6212aa010a140a047469636b12001a0022002a00320038004200" +
      "128f010a0b2a2f35202a202a202a202a1a002a7e0a140a047469636b12001a0022002a00320038004200126632640a100a00" +
      "12001a0022002a00320038004200125012290a047469636b120762757379626f781a04646174652a0042006a007200800100" +
      "880100900100a201001a094f6e4661696c757265320042004a0052005800600068008201008a01009a0100c201001a001a00" +
      "2200",
    object: {
      kind: "CronJob",
      apiVersion: "batch/v1",
      metadata: { name: "tick" },
      spec: {
        schedule: "*/5 * * * *",
        jobTemplate: {
          metadata: { name: "tick" },
          spec: {
            template: {
              metadata: {},
              spec: {
                containers: [{ name: "tick", image: "busybox", command: ["date"], resources: {} }],
                restartPolicy: "OnFailure",
              },
            },
          },
        },
      },
      status: {},
    },
  },
  {
    command: "create poddisruptionbudget pdb --selector=app=web --min-available=50%",
    hex:
      "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e427564676574123c0a130a0370646212001a" +
      "0022002a0032003800420012190a09080110001a03353025120c0a0a0a0361707012037765621a0a08001800200028003000" +
      "1a002200",
    object: {
      kind: "PodDisruptionBudget",
      apiVersion: "policy/v1",
      metadata: { name: "pdb" },
      spec: { minAvailable: "50%", selector: { matchLabels: { app: "web" } } },
      status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    },
  },
  {
    command: "create quota q --hard=cpu=1,memory=1Gi",
    hex:
      "6b3873000a130a027631120d5265736f7572636551756f746112340a110a017112001a0022002a00320038004200121d0a0a" +
      "0a0363707512030a01310a0f0a066d656d6f727912050a033147691a001a002200",
    object: {
      kind: "ResourceQuota",
      apiVersion: "v1",
      metadata: { name: "q" },
      spec: { hard: { cpu: "1", memory: "1Gi" } },
      status: {},
    },
  },
  {
    command: "create ingress ing --rule=example.com/path*=svc:80",
    hex:
      "6b3873000a1f0a146e6574776f726b696e672e6b38732e696f2f76311207496e6772657373124e0a130a03696e6712001a00" +
      "22002a0032003800420012331a310a0b6578616d706c652e636f6d12220a200a1e0a052f70617468120d220b0a0373766312" +
      "040a0010501a065072656669781a020a001a002200",
    object: {
      kind: "Ingress",
      apiVersion: "networking.k8s.io/v1",
      metadata: { name: "ing" },
      spec: {
        rules: [
          {
            host: "example.com",
            http: {
              paths: [
                { path: "/path", pathType: "Prefix", backend: { service: { name: "svc", port: { number: 80 } } } },
              ],
            },
          },
        ],
      },
      status: { loadBalancer: {} },
    },
  },
  {
    command: "create service nodeport np --tcp=80:http",
    hex:
      "6b3873000a0d0a02763112075365727669636512680a1d0a026e7012001a0022002a003200380042005a090a036170701202" +
      "6e7012430a1e0a0738302d6874747012035443501850220a080110001a0468747470280012090a0361707012026e701a0022" +
      "084e6f6465506f72743a00420052005a00600068001a020a001a002200",
    object: {
      kind: "Service",
      apiVersion: "v1",
      metadata: { name: "np", labels: { app: "np" } },
      spec: {
        ports: [{ name: "80-http", protocol: "TCP", port: 80, targetPort: "http" }],
        selector: { app: "np" },
        type: "NodePort",
      },
      status: { loadBalancer: {} },
    },
  },
  {
    command: "create token robot --duration=1h",
    hex:
      "6b3873000a280a1861757468656e7469636174696f6e2e6b38732e696f2f7631120c546f6b656e52657175657374121d0a10" +
      "0a0012001a0022002a00320038004200120320901c1a040a0012001a002200",
    object: {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      metadata: {},
      spec: { audiences: null, expirationSeconds: 3600, boundObjectRef: null },
      status: { token: "", expirationTimestamp: null },
    },
  },
  {
    command: "auth can-i create pods",
    hex:
      "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a656374416363657373" +
      "526576696577123f0a100a0012001a0022002a0032003800420012210a1f0a0764656661756c7412066372656174651a0022" +
      "002a04706f647332003a001a08080012001a0020001a002200",
    object: {
      kind: "SelfSubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      metadata: {},
      spec: { resourceAttributes: { namespace: "default", verb: "create", resource: "pods" } },
      status: { allowed: false },
    },
  },
];
