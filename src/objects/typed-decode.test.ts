import { describe, expect, test } from "vitest";
import { openCatalog } from "./catalog/catalog.ts";
import type { JsonObject } from "../meta/json.ts";
import { REPORTED_PATHS_LENGTH_MAX, REPORTED_PATHS_MAX } from "./json/json-text.ts";
import type { FieldSchema, StructSchema } from "./schema.ts";
import { decodeTyped, TypeMismatchError } from "./typed-decode.ts";

const { schemas } = openCatalog({ release: "1.36" });

function schemaOf(kind: string): StructSchema {
  const schema = schemas.kind("", "v1", kind);
  if (schema === undefined) throw new Error(`the catalog knows no ${kind}`);
  return schema;
}

function decode(kind: string, text: string): ReturnType<typeof decodeTyped> {
  return decodeTyped(JSON.parse(text) as JsonObject, schemaOf(kind));
}

function field(schema: Partial<FieldSchema> & Pick<FieldSchema, "type">): FieldSchema {
  return {
    ...{
      struct: undefined,
      items: undefined,
      format: undefined,
      required: false,
      default: undefined,
      enum: undefined,
      listType: undefined,
    },
    ...{
      listMapKeys: undefined,
      mapType: undefined,
      patchStrategy: undefined,
      patchMergeKey: undefined,
      intOrString: false,
      quantity: false,
    },
    ...{ embeddedResource: false, preserveUnknown: false },
    ...schema,
  };
}

/**
 * Kubernetes' messages, except that messages from a schema do not contain named string types and the names of embedded
 * structs.
 */
const MISMATCHES: readonly (readonly [kind: string, text: string, sentence: string])[] = [
  ["Pod", '{"spec":"x"}', "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec"],
  ["Pod", '{"spec":1}', "json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec"],
  ["Pod", '{"spec":1.5}', "json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec"],
  ["Pod", '{"spec":[]}', "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec"],
  ["Pod", '{"spec":true}', "json: cannot unmarshal bool into Go struct field Pod.spec of type v1.PodSpec"],
  [
    "Pod",
    '{"metadata":{"name":1}}',
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
  ],
  [
    "Pod",
    '{"metadata":{"name":1.5}}',
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
  ],
  [
    "Pod",
    '{"metadata":{"name":{}}}',
    "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.name of type string",
  ],
  [
    "Pod",
    '{"metadata":{"name":[]}}',
    "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.name of type string",
  ],
  [
    "Pod",
    '{"metadata":{"labels":{"a":1}}}',
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
  ],
  [
    "Pod",
    '{"metadata":{"labels":[]}}',
    "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
  ],
  [
    "Pod",
    '{"metadata":{"annotations":"x"}}',
    "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.annotations of type map[string]string",
  ],
  [
    "Pod",
    '{"metadata":{"finalizers":"x"}}',
    "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.finalizers of type []string",
  ],
  [
    "Pod",
    '{"metadata":{"finalizers":[1]}}',
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.finalizers of type string",
  ],
  [
    "Pod",
    '{"metadata":{"generation":"1"}}',
    "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.generation of type int64",
  ],
  [
    "Pod",
    '{"metadata":{"generation":1.5}}',
    "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64",
  ],
  [
    "Pod",
    '{"metadata":{"creationTimestamp":1}}',
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
  ],
  [
    "Pod",
    '{"metadata":{"creationTimestamp":"x"}}',
    'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
  ],
  [
    "Pod",
    '{"metadata":{"creationTimestamp":{}}}',
    "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
  ],
  [
    "Pod",
    '{"metadata":{"creationTimestamp":true}}',
    "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
  ],
  [
    "Pod",
    '{"metadata":{"creationTimestamp":""}}',
    'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"',
  ],
  [
    "Pod",
    '{"metadata":{"deletionGracePeriodSeconds":"x"}}',
    "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.deletionGracePeriodSeconds of type int64",
  ],
  [
    "Pod",
    '{"metadata":{"ownerReferences":[{"controller":"x"}]}}',
    "json: cannot unmarshal string into Go struct field OwnerReference.metadata.ownerReferences.controller of type bool",
  ],
  [
    "Pod",
    '{"metadata":{"ownerReferences":{}}}',
    "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.ownerReferences of type []v1.OwnerReference",
  ],
  [
    "Pod",
    '{"metadata":{"ownerReferences":[1]}}',
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.ownerReferences of type v1.OwnerReference",
  ],
  [
    "Pod",
    '{"spec":{"containers":{}}}',
    "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
  ],
  [
    "Pod",
    '{"spec":{"containers":[1]}}',
    "json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type v1.Container",
  ],
  [
    "Pod",
    '{"spec":{"containers":["x"]}}',
    "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"name":1}]}}',
    "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"ports":[{"containerPort":3000000000}]}]}}',
    "json: cannot unmarshal number 3000000000 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"ports":[{"containerPort":"x"}]}]}}',
    "json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"ports":[{"containerPort":1.5}]}]}}',
    "json: cannot unmarshal number 1.5 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"resources":{"limits":{"cpu":true}}}]}}',
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}',
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"resources":{"limits":[]}}]}}',
    "json: cannot unmarshal array into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}',
    "json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":1.5}}}]}}',
    "json: cannot unmarshal number 1.5 into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":3000000000}}}]}}',
    "json: cannot unmarshal number 3000000000 into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":{}}}}]}}',
    "json: cannot unmarshal object into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":[]}}}]}}',
    "json: cannot unmarshal array into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32",
  ],
  [
    "Pod",
    '{"spec":{"hostNetwork":"true"}}',
    "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
  ],
  [
    "Pod",
    '{"spec":{"hostNetwork":1}}',
    "json: cannot unmarshal number into Go struct field PodSpec.spec.hostNetwork of type bool",
  ],
  [
    "Pod",
    '{"spec":{"hostNetwork":1.5}}',
    "json: cannot unmarshal number into Go struct field PodSpec.spec.hostNetwork of type bool",
  ],
  [
    "Pod",
    '{"spec":{"hostNetwork":{}}}',
    "json: cannot unmarshal object into Go struct field PodSpec.spec.hostNetwork of type bool",
  ],
  [
    "Pod",
    '{"spec":{"restartPolicy":1}}',
    "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type string",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"imagePullPolicy":{}}]}}',
    "json: cannot unmarshal object into Go struct field Container.spec.containers.imagePullPolicy of type string",
  ],
  [
    "Pod",
    '{"spec":{"nodeSelector":{"a":{}}}}',
    "json: cannot unmarshal object into Go struct field PodSpec.spec.nodeSelector of type string",
  ],
  [
    "Pod",
    '{"metadata":{"name":1,"generation":"x"},"spec":2}',
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
  ],
  [
    "Pod",
    '{"status":{"podIPs":[{"ip":1}],"phase":1}}',
    "json: cannot unmarshal number into Go struct field PodIP.status.podIPs.ip of type string",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"env":[{"valueFrom":{"fieldRef":1}}]}]}}',
    "json: cannot unmarshal number into Go struct field EnvVarSource.spec.containers.env.valueFrom.fieldRef of type v1.ObjectFieldSelector",
  ],
  [
    "Pod",
    '{"spec":{"priority":-3000000000}}',
    "json: cannot unmarshal number -3000000000 into Go struct field PodSpec.spec.priority of type int32",
  ],
  [
    "Pod",
    '{"spec":{"terminationGracePeriodSeconds":"x"}}',
    "json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
  ],
  [
    "Pod",
    '{"spec":{"overhead":{"cpu":{}}}}',
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"command":[1]}]}}',
    "json: cannot unmarshal number into Go struct field Container.spec.containers.command of type string",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"volumeMounts":[{"readOnly":"x"}]}]}}',
    "json: cannot unmarshal string into Go struct field VolumeMount.spec.containers.volumeMounts.readOnly of type bool",
  ],
  [
    "Pod",
    '{"spec":{"securityContext":{"sysctls":"x"}}}',
    "json: cannot unmarshal string into Go struct field PodSecurityContext.spec.securityContext.sysctls of type []v1.Sysctl",
  ],
  [
    "Pod",
    '{"spec":{"containers":[{"ports":[{"hostPort":1},{"zip":1},{"name":5}]}]}}',
    "json: cannot unmarshal number into Go struct field ContainerPort.spec.containers.ports.name of type string",
  ],
  [
    "Pod",
    '{"metadata":{"labels":{"x":{"y":1}}}}',
    "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.labels of type string",
  ],
  [
    "Pod",
    '{"spec":{"tolerations":[{"tolerationSeconds":1.5}]}}',
    "json: cannot unmarshal number 1.5 into Go struct field Toleration.spec.tolerations.tolerationSeconds of type int64",
  ],
  ["ConfigMap", '{"data":{"k":1}}', "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"],
  [
    "ConfigMap",
    '{"data":[]}',
    "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string",
  ],
  ["ConfigMap", '{"binaryData":{"k":"!"}}', "illegal base64 data at input byte 0"],
  [
    "ConfigMap",
    '{"binaryData":{"k":1}}',
    "json: cannot unmarshal number into Go struct field ConfigMap.binaryData of type []uint8",
  ],
  [
    "ConfigMap",
    '{"immutable":"x"}',
    "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool",
  ],
  [
    "ConfigMap",
    '{"data":"x"}',
    "json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string",
  ],
  ["Secret", '{"data":{"p":"not base64!"}}', "illegal base64 data at input byte 3"],
  ["Secret", '{"type":1}', "json: cannot unmarshal number into Go struct field Secret.type of type string"],
  [
    "Secret",
    '{"stringData":{"a":1}}',
    "json: cannot unmarshal number into Go struct field Secret.stringData of type string",
  ],
  [
    "Service",
    '{"spec":{"ports":[{"port":"x"}]}}',
    "json: cannot unmarshal string into Go struct field ServicePort.spec.ports.port of type int32",
  ],
  [
    "Service",
    '{"spec":{"ports":[{"targetPort":true}]}}',
    "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
  ],
  [
    "Service",
    '{"spec":{"ports":[{"protocol":1}]}}',
    "json: cannot unmarshal number into Go struct field ServicePort.spec.ports.protocol of type string",
  ],
  [
    "Service",
    '{"spec":{"clusterIPs":1}}',
    "json: cannot unmarshal number into Go struct field ServiceSpec.spec.clusterIPs of type []string",
  ],
  [
    "Service",
    '{"spec":{"selector":{"a":true}}}',
    "json: cannot unmarshal bool into Go struct field ServiceSpec.spec.selector of type string",
  ],
  ["Event", '{"eventTime":1}', "json: cannot unmarshal number into Go struct field Event.eventTime of type string"],
  [
    "Event",
    '{"firstTimestamp":"2024-01-02"}',
    'parsing time "2024-01-02" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
  ],
];

const UNKNOWN_FIELDS: readonly (readonly [kind: string, text: string, paths: readonly string[]])[] = [
  [
    "Pod",
    '{"spec":{"bogus":1,"containers":[{"foo":1,"ports":[{"bar":{}}]}]},"zap":1}',
    ["spec.bogus", "spec.containers[0].foo", "spec.containers[0].ports[0].bar", "zap"],
  ],
  [
    "Pod",
    '{"metadata":{"bogus":1},"bogus":2,"spec":{"volumes":[{},{"x":1}]}}',
    ["metadata.bogus", "bogus", "spec.volumes[1].x"],
  ],
  ["Pod", '{"spec":{"containers":[{"resources":{"limits":{"a.b":"1"},"zz":1}}]}}', ["spec.containers[0].resources.zz"]],
  ["Pod", '{"metadata":{"__proto__":{"x":1},"constructor":1}}', ["metadata.__proto__", "metadata.constructor"]],
  ["Pod", '{"Metadata":{"name":"x"},"SPEC":{}}', ["Metadata", "SPEC"]],
];

describe("decodeTyped", () => {
  test.each(MISMATCHES)("rejects a %s of %s with Go's message", (kind, text, sentence) => {
    expect(() => decode(kind, text)).toThrow(new TypeMismatchError(sentence));
  });

  test.each(UNKNOWN_FIELDS)("reports the unknown fields of a %s of %s in document order", (kind, text, paths) => {
    const { unknownFields } = decode(kind, text);
    expect(unknownFields).toEqual(paths);
  });

  test("keeps known fields unchanged, in their order", () => {
    const text =
      '{"metadata":{"name":"a","labels":{"b":"1","a":"2"}},"spec":{"containers":[{"image":"i","name":"c","ports":[{"containerPort":80}]}]}}';
    expect(JSON.stringify(decode("Pod", text).object)).toBe(text);
  });

  test("omits unknown fields", () => {
    expect(decode("ConfigMap", '{"bogus":{"a":1},"data":{"a":"1"}}').object).toEqual({ data: { a: "1" } });
  });

  test("treats null in a struct as absent", () => {
    expect(
      decode("Pod", '{"spec":null,"metadata":{"name":null,"labels":null,"creationTimestamp":null}}').object,
    ).toEqual({ metadata: {} });
  });

  test("replaces null in a list or a map by the element's zero value", () => {
    expect(decode("Pod", '{"metadata":{"labels":{"a":null},"finalizers":[null,"a"]}}').object).toEqual({
      metadata: { labels: { a: "" }, finalizers: ["", "a"] },
    });
    expect(decode("Pod", '{"spec":{"containers":[null],"overhead":{"cpu":null}}}').object).toEqual({
      spec: { containers: [{}], overhead: { cpu: "0" } },
    });
    expect(decode("ConfigMap", '{"binaryData":{"k":null}}').object).toEqual({ binaryData: { k: "" } });
  });

  test.each(["1", '"1"', '" 1 "'])("converts the quantity %s to a string", (quantity) => {
    expect(decode("Pod", `{"spec":{"overhead":{"cpu":${quantity}}}}`).object).toEqual({
      spec: { overhead: { cpu: "1" } },
    });
  });

  test.each(["80", '"http"', '"80"', "-2147483648", "2147483647"])("keeps the int-or-string %s unchanged", (port) => {
    const text = `{"spec":{"ports":[{"targetPort":${port}}]}}`;
    expect(JSON.stringify(decode("Service", text).object)).toBe(text);
  });

  test("treats fields with the names of prototype properties as ordinary fields", () => {
    const { object } = decode("Pod", '{"metadata":{"labels":{"__proto__":"x","constructor":"y"}}}');
    expect(JSON.stringify(object)).toBe('{"metadata":{"labels":{"__proto__":"x","constructor":"y"}}}');
    expect(decode("Pod", '{"__proto__":{"spec":1},"toString":1}').unknownFields).toEqual(["__proto__", "toString"]);
    expect(({} as JsonObject)["spec"]).toBeUndefined();
  });

  test("keeps the unknown fields of a struct that preserves them, without reporting them", () => {
    const schema: StructSchema = {
      name: "x.Free",
      fields: new Map([["known", field({ type: "boolean" })]]),
      mapType: undefined,
      preserveUnknown: true,
    };
    const text = '{"a":{"b":[1]},"known":true,"__proto__":{"c":1}}';
    const { object, unknownFields } = decodeTyped(JSON.parse(text) as JsonObject, schema);
    expect(JSON.stringify(object)).toBe(text);
    expect(unknownFields).toEqual([]);
  });

  test("accepts any value for a field of any type", () => {
    const schema: StructSchema = {
      name: "x.Any",
      fields: new Map([["raw", field({ type: "any" })]]),
      mapType: undefined,
      preserveUnknown: false,
    };
    for (const raw of [1, "a", [], { a: { b: null } }, false])
      expect(decodeTyped({ raw }, schema).object).toEqual({ raw });
  });

  test("reports the paths of unknown fields through maps and lists", () => {
    const inner: StructSchema = { name: "x.Inner", fields: new Map(), mapType: undefined, preserveUnknown: false };
    const struct = field({ type: "struct", struct: inner });
    const lists = field({ type: "map", items: field({ type: "array", items: struct }) });
    const schema: StructSchema = {
      name: "x.Outer",
      fields: new Map([["lists", lists]]),
      mapType: undefined,
      preserveUnknown: false,
    };
    expect(decodeTyped({ lists: { k: [{}, { z: 1 }] } }, schema).unknownFields).toEqual(["lists.k[1].z"]);
  });

  test("reports a limited number of unknown fields", () => {
    const object = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`x${index}`, 1]));
    expect(decodeTyped(object, schemaOf("Pod")).unknownFields).toHaveLength(REPORTED_PATHS_MAX);
  });

  test("reports paths up to a total length, but always at least one", () => {
    const long = "x".repeat(REPORTED_PATHS_LENGTH_MAX + 1);
    expect(decodeTyped({ [long]: 1, other: 1 }, schemaOf("Pod")).unknownFields).toEqual([long]);
  });
});
