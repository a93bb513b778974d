/** CRDs like those of operators: many, in a few groups, each with a schema of about 10 KB. */
import { deploymentText, NUMBER_MARK } from "./objects.ts";

type Schema = Readonly<Record<string, unknown>>;
type Properties = Readonly<Record<string, Schema>>;

export const DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const DEFINITION_VERSION = "v1";

/** A kind of a custom resource. Its fields are those of a Deployment. */
export interface CustomKind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

export const WEB: CustomKind = { group: "web.bench.example", plural: "webs", kind: "Web" };
/** Like WEB, but its schema has a CEL rule. */
export const RULED_WEB: CustomKind = { group: "web.bench.example", plural: "ruledwebs", kind: "RuledWeb" };
export const RULE: Schema = {
  "x-kubernetes-validations": [
    {
      rule: "self.template.spec.containers.all(container, container.image.startsWith('registry.example/'))",
      message: "images must come from our own registry",
    },
  ],
};

export function groupName(group: number): string {
  return `team-${group}.bench.example`;
}

/** A kind in the group with this number; the mark in its name is replaced by the number of the CRD. */
export function numberedKind(group: number): CustomKind {
  return { group: groupName(group), plural: `things${NUMBER_MARK}`, kind: `Thing${NUMBER_MARK}` };
}

export function crdText({ group, plural, kind }: CustomKind, ofSpec: Schema = {}): string {
  return JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List`, categories: ["bench"] },
      versions: [
        {
          name: DEFINITION_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: "Replicas", type: "integer", jsonPath: ".spec.replicas" },
            { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
          ],
          schema: { openAPIV3Schema: rootSchema(ofSpec) },
        },
      ],
    },
  });
}

/** A custom resource with the same content as the Deployment that it is compared with. */
export function customText({ group, kind }: CustomKind, tag: string): string {
  const deployment = JSON.parse(deploymentText(tag)) as object;
  return JSON.stringify({ ...deployment, apiVersion: `${group}/${DEFINITION_VERSION}`, kind });
}

function rootSchema(ofSpec: Schema): Schema {
  const condition = {
    type: text("condition"),
    status: text("status", { enum: ["True", "False", "Unknown"] }),
    reason: text("reason", { maxLength: 1024 }),
    message: text("message", { maxLength: 32_768 }),
    lastTransitionTime: text("transition", { format: "date-time" }),
    observedGeneration: integer("generation", { minimum: 0 }),
  };
  return object("kind", {
    apiVersion: text("schema version"),
    kind: text("kind"),
    metadata: { type: "object" },
    spec: { ...specSchema(), ...ofSpec },
    status: object("status", {
      observedGeneration: integer("generation", { minimum: 0 }),
      replicas: integer("replicas", { minimum: 0 }),
      readyReplicas: integer("ready replicas", { minimum: 0 }),
      conditions: mapList("conditions", "type", object("condition", condition, ["type", "status"])),
    }),
  });
}

function specSchema(): Schema {
  const rollingUpdate = { maxSurge: intOrString("surge"), maxUnavailable: intOrString("unavailable") };
  const strategy = object("strategy", {
    type: text("strategy", { enum: ["RollingUpdate", "Recreate"] }),
    rollingUpdate: object("rolling update", rollingUpdate),
  });
  const byDefault = { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } };
  const template = { metadata: object("metadata", { labels: textMap("labels") }), spec: podSchema() };
  return object(
    "specification",
    {
      replicas: integer("replicas", { format: "int32", minimum: 0, default: 1 }),
      selector: object("selector", { matchLabels: textMap("labels") }),
      progressDeadlineSeconds: integer("deadline", { format: "int32", default: 600 }),
      revisionHistoryLimit: integer("history", { format: "int32", default: 10 }),
      strategy: { ...strategy, default: byDefault },
      template: object("template", template, ["spec"]),
    },
    ["selector", "template"],
  );
}

function podSchema(): Schema {
  const configMap = { name: text("name", NAME), defaultMode: integer("mode", { maximum: 0o777, default: 0o644 }) };
  const volume = object("volume", { name: text("name", NAME), configMap: object("source", configMap) }, ["name"]);
  return object(
    "pods",
    {
      containers: mapList("containers", "name", containerSchema()),
      volumes: mapList("volumes", "name", volume),
      dnsPolicy: text("resolution", { default: "ClusterFirst" }),
      restartPolicy: text("restarts", { enum: ["Always", "OnFailure", "Never"], default: "Always" }),
      schedulerName: text("scheduler", { default: "default-scheduler" }),
      securityContext: object("security", { runAsUser: integer("user"), fsGroup: integer("group") }, [], {}),
      terminationGracePeriodSeconds: integer("grace period", { minimum: 0, default: 30 }),
    },
    ["containers"],
  );
}

function containerSchema(): Schema {
  const quantities = { ...textMap("quantities"), additionalProperties: intOrString("quantity") };
  const env = object("variable", { name: text("name"), value: text("value") }, ["name"]);
  const port = {
    name: text("name", { maxLength: 15 }),
    containerPort: integer("port", PORT),
    protocol: text("protocol", { enum: ["TCP", "UDP", "SCTP"], default: "TCP" }),
  };
  const mount = { name: text("name", NAME), mountPath: text("path"), readOnly: { type: "boolean" } };
  const ports = mapList("ports", "containerPort", object("port", port, ["containerPort"]));
  return object(
    "container",
    {
      name: text("name", NAME),
      image: text("image", { minLength: 1, maxLength: 255 }),
      imagePullPolicy: text("pulls", { enum: ["Always", "IfNotPresent", "Never"], default: "IfNotPresent" }),
      env: mapList("variables", "name", env),
      ports: { ...ports, "x-kubernetes-list-map-keys": ["containerPort", "protocol"] },
      resources: object("resources", { requests: quantities, limits: quantities }, [], {}),
      readinessProbe: probeSchema(),
      volumeMounts: mapList("mounts", "mountPath", object("mount", mount, ["name", "mountPath"])),
      terminationMessagePath: text("path", { default: "/dev/termination-log" }),
      terminationMessagePolicy: text("policy", { default: "File" }),
    },
    ["name", "image"],
  );
}

function probeSchema(): Schema {
  const httpGet = {
    path: text("path", { maxLength: 2048 }),
    port: intOrString("port"),
    scheme: text("scheme", { enum: ["HTTP", "HTTPS"], default: "HTTP" }),
  };
  return object("probe", {
    httpGet: object("request", httpGet, ["port"]),
    failureThreshold: integer("failures", { format: "int32", minimum: 1, default: 3 }),
    periodSeconds: integer("period", { format: "int32", minimum: 1, default: 10 }),
    successThreshold: integer("successes", { format: "int32", minimum: 1, default: 1 }),
    timeoutSeconds: integer("timeout", { format: "int32", minimum: 1, default: 1 }),
  });
}

const NAME: Schema = { minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" };
const PORT: Schema = { format: "int32", minimum: 1, maximum: 65_535 };
const LIST_MAX = 32;

/** A description of typical length. */
function about(what: string): string {
  return `The ${what} that the controller reads when it syncs the resource.`;
}

function text(what: string, more: Schema = {}): Schema {
  return { type: "string", description: about(what), ...more };
}

function integer(what: string, more: Schema = {}): Schema {
  return { type: "integer", description: about(what), ...more };
}

function intOrString(what: string): Schema {
  return {
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "integer" }, { type: "string" }],
    description: about(what),
  };
}

function textMap(what: string): Schema {
  return { type: "object", description: about(what), additionalProperties: { type: "string", maxLength: 63 } };
}

function mapList(what: string, key: string, items: Schema): Schema {
  return {
    type: "array",
    description: about(what),
    maxItems: LIST_MAX,
    items,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": [key],
  };
}

function object(what: string, properties: Properties, required: readonly string[] = [], byDefault?: object): Schema {
  return {
    type: "object",
    description: about(what),
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(byDefault === undefined ? {} : { default: byDefault }),
  };
}
