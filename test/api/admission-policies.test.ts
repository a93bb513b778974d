/** Tests of admission policies in CEL through the whole server: they deny, warn, audit and mutate. */
import { describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import {
  CONFIG_MAPS,
  configMap,
  deployment,
  header,
  pod,
  startServer as start,
  type ApiTestResponse,
  type CallOptions,
  type Json,
  type StartOptions,
  type TestServer,
} from "./start.ts";

const GROUP = "/apis/admissionregistration.k8s.io/v1";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";
const BOB: CallOptions = { asClient: true, headers: { authorization: "Bearer secret-bob" } };

/**
 * Starts a server with access control, without controllers and without the ServiceAccount plugin, so that pods need no
 * service accounts.
 */
const startServer = (options: StartOptions = {}): Promise<TestServer> =>
  start({
    access: { disableAdmissionPlugins: ["ServiceAccount"] },
    tokenFile: "secret-bob,bob,uid-bob\n",
    ...options,
  });

interface Rule {
  readonly resources: readonly string[];
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
}

const MAPS_CREATED: Rule = { resources: ["configmaps"] };

const ruleOf = ({ resources, operations = ["CREATE"], apiGroups = ["*"] }: Rule): Json => ({
  ...{ resources, operations, apiGroups },
  apiVersions: ["*"],
});

interface Bound {
  readonly rule?: Rule;
  readonly match?: Json;
  readonly spec: Json;
  readonly binding?: Json;
}

/** Creates a policy and its binding, and returns when the server enforces them. */
async function validating(
  api: TestServer,
  name: string,
  { rule = MAPS_CREATED, match, spec, binding }: Bound,
): Promise<void> {
  const matchConstraints = { resourceRules: [ruleOf(rule)], ...match };
  await made(api, `${GROUP}/validatingadmissionpolicies`, { metadata: { name }, spec: { matchConstraints, ...spec } });
  const bound = { policyName: name, validationActions: ["Deny"], ...binding };
  await made(api, `${GROUP}/validatingadmissionpolicybindings`, { metadata: { name }, spec: bound });
  await api.world.advance(1_000);
}

async function mutating(
  api: TestServer,
  name: string,
  { rule = MAPS_CREATED, match, spec, binding }: Bound,
): Promise<void> {
  const matchConstraints = { resourceRules: [ruleOf(rule)], ...match };
  const policy = { matchConstraints, reinvocationPolicy: "Never", ...spec };
  await made(api, `${GROUP}/mutatingadmissionpolicies`, { metadata: { name }, spec: policy });
  await made(api, `${GROUP}/mutatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, ...binding },
  });
  await api.world.advance(1_000);
}

async function made(api: TestServer, target: string, object: Json): Promise<void> {
  const { status, body } = await api.create(target, object);
  expect([status, body.message]).toEqual([201, undefined]);
}

const valid = (expression: string, more: Json = {}): Json => ({ validations: [{ expression, ...more }] });

/** "admitted", the message with which policy "p" denied the request, or the status and message of any other error. */
function outcome({ status, body }: ApiTestResponse): string {
  if (status < 300) return "admitted";
  const said = /^.* is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: (.*)$/s.exec(
    body.message,
  );
  return said === null ? `${status} ${body.message}` : `denied: ${said[1]}`;
}

const create = async (api: TestServer, name: string, more: Json = {}): Promise<string> =>
  outcome(await api.create(CONFIG_MAPS, configMap(name, more)));

const labelled = (labels: Json): Json => ({ metadata: { labels } });

async function define(api: TestServer, plural: string, properties: Json): Promise<void> {
  const kind = plural[0]!.toUpperCase() + plural.slice(1, -1);
  const openAPIV3Schema = {
    type: "object",
    properties: {
      spec: { type: "object", properties },
      status: { type: "object", properties: { phase: { type: "string" } } },
    },
  };
  const subresources = {
    status: {},
    scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
  };
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema }, subresources };
  const names = { plural, kind };
  const spec = { group: "example.com", scope: "Namespaced", names, versions: [version] };
  const target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await made(api, target, { metadata: { name: `${plural}.example.com` }, spec });
  await api.world.advance(1_000);
}

const widget = (name: string, spec: Json): Json => ({
  ...{ apiVersion: "example.com/v1", kind: "Widget" },
  ...{ metadata: { name }, spec },
});

describe("a validating policy", () => {
  test("denies creations and updates with its own message and reason", async () => {
    await using api = await startServer();
    const validations = [
      { expression: "object.data.a == '1'" },
      { expression: "size(object.data) < 2", message: "too much", reason: "RequestEntityTooLarge" },
      { expression: "size(object.metadata.name) < 5", messageExpression: "object.metadata.name + ' is long'" },
    ];
    await validating(api, "p", { rule: { ...MAPS_CREATED, operations: ["CREATE", "UPDATE"] }, spec: { validations } });
    expect(await create(api, "one")).toBe("admitted");
    const rejected = await api.create(CONFIG_MAPS, configMap("two", { data: { a: "2" } }));
    expect(rejected.body).toMatchObject({ status: "Failure", reason: "Invalid", code: 422 });
    expect(outcome(rejected)).toBe("denied: failed expression: object.data.a == '1'");
    const large = await api.create(CONFIG_MAPS, configMap("two", { data: { a: "1", b: "2" } }));
    expect([large.status, outcome(large)]).toEqual([413, "denied: too much"]);
    expect(await create(api, "toolong")).toBe("denied: toolong is long");
    const bad = configMap("one", { data: { a: "2" } });
    const FIRST = "denied: failed expression: object.data.a == '1'";
    expect(outcome(await api.put(`${CONFIG_MAPS}/one`, bad))).toBe(FIRST);
    expect(outcome(await api.mergePatch(`${CONFIG_MAPS}/one`, { data: { a: "2" } }))).toBe(FIRST);
    const headers = { "content-type": "application/apply-patch+yaml" };
    const applied = await api.call(
      "PATCH",
      `${CONFIG_MAPS}/new?fieldManager=m`,
      JSON.stringify({ ...bad, metadata: { name: "new" } }),
      { headers },
    );
    expect(outcome(applied)).toBe(FIRST);
    expect(outcome(await api.create(`${CONFIG_MAPS}?dryRun=All`, bad))).toBe(FIRST);
    expect((await api.get(`${CONFIG_MAPS}/new`)).status).toBe(404);
  });

  test("reads the current parameters from ConfigMaps and custom resources", async () => {
    await using api = await startServer();
    await define(api, "limits", { max: { type: "integer" } });
    const LIMITS = "/apis/example.com/v1/namespaces/default/limits";
    const rule = { resources: ["deployments"], operations: ["CREATE", "UPDATE"] };
    await validating(api, "p", {
      ...{ rule, binding: { paramRef: { name: "max", parameterNotFoundAction: "Deny" } } },
      spec: {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        ...valid("object.spec.replicas <= int(params.data.max)"),
      },
    });
    expect(outcome(await api.create(DEPLOYMENTS, deployment("a", 1)))).toContain("no params found for policy binding");
    await api.create(CONFIG_MAPS, configMap("max", { data: { max: "3" } }));
    expect(outcome(await api.create(DEPLOYMENTS, deployment("a", 3)))).toBe("admitted");
    expect(outcome(await api.create(DEPLOYMENTS, deployment("b", 4)))).toMatch(/^denied/);
    await api.mergePatch(`${CONFIG_MAPS}/max`, { data: { max: "9" } });
    expect(outcome(await api.mergePatch(`${DEPLOYMENTS}/a`, { spec: { replicas: 9 } }))).toBe("admitted");
    await api.delete(`${GROUP}/validatingadmissionpolicybindings/p`);
    await api.delete(`${GROUP}/validatingadmissionpolicies/p`);
    await validating(api, "p", {
      ...{ rule, binding: { paramRef: { selector: {}, parameterNotFoundAction: "Allow" } } },
      spec: {
        paramKind: { apiVersion: "example.com/v1", kind: "Limit" },
        ...valid("object.spec.replicas <= params.spec.max", {
          messageExpression: "'at most ' + string(params.spec.max)",
        }),
      },
    });
    expect(outcome(await api.create(DEPLOYMENTS, deployment("c", 20)))).toBe("admitted");
    for (const [name, max] of Object.entries({ some: 5, few: 2 }))
      await api.create(LIMITS, { apiVersion: "example.com/v1", kind: "Limit", metadata: { name }, spec: { max } });
    expect(outcome(await api.create(DEPLOYMENTS, deployment("d", 2)))).toBe("admitted");
    expect(outcome(await api.create(DEPLOYMENTS, deployment("e", 3)))).toBe("denied: at most 2");
  });

  test("can use variables, the namespace, the user and the authorizer", async () => {
    await using api = await startServer();
    await validating(api, "p", {
      spec: {
        variables: [
          { name: "space", expression: "namespaceObject.metadata.name" },
          { name: "text", expression: "request.userInfo.username + ' in ' + variables.space" },
        ],
        ...valid("authorizer.group('').resource('secrets').namespace(variables.space).check('delete').allowed()", {
          messageExpression: "variables.text",
        }),
      },
    });
    await allow(api, "maps", { apiGroups: [""], resources: ["configmaps"], verbs: ["create"] });
    expect(await create(api, "one")).toBe("admitted");
    const asBob = async (name: string): Promise<string> =>
      outcome(await api.call("POST", CONFIG_MAPS, configMap(name), BOB));
    expect(await asBob("two")).toBe("denied: bob in default");
    await allow(api, "secrets", { apiGroups: [""], resources: ["secrets"], verbs: ["delete"] });
    expect(await asBob("two")).toBe("admitted");
  });

  test("warns and admits the request if its validation actions are Warn and Audit", async () => {
    await using api = await startServer();
    await validating(api, "p", {
      spec: valid("false", { message: "hm" }),
      binding: { validationActions: ["Warn", "Audit"] },
    });
    const response = await api.create(CONFIG_MAPS, configMap("one"));
    expect(response.status).toBe(201);
    expect(header(response, "warning")).toBe(
      `299 - "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': hm"`,
    );
  });

  test.each([
    ["Fail", /^denied: expression 'object.data.nope == '1'' resulted in error: no such key: nope$/],
    ["Ignore", /^admitted$/],
  ])(
    "whose expression fails admits or denies the request according to its failure policy %s",
    async (failurePolicy, expected) => {
      await using api = await startServer();
      await validating(api, "p", { spec: { failurePolicy, ...valid("object.data.nope == '1'") } });
      expect(await create(api, "one")).toMatch(expected);
    },
  );

  test("is evaluated only for requests that the policy, its binding and its match conditions select", async () => {
    await using api = await startServer();
    await validating(api, "p", {
      match: {
        namespaceSelector: { matchLabels: { strict: "yes" } },
        excludeResourceRules: [{ ...ruleOf(MAPS_CREATED), resourceNames: ["free"] }],
      },
      spec: { matchConditions: [{ name: "not-mine", expression: "!has(object.data.mine)" }], ...valid("false") },
      binding: { matchResources: { objectSelector: { matchLabels: { checked: "yes" } } } },
    });
    const checked = labelled({ checked: "yes" });
    expect(await create(api, "a", checked)).toBe("admitted");
    await api.mergePatch("/api/v1/namespaces/default", labelled({ strict: "yes" }));
    expect(await create(api, "b", checked)).toMatch(/^denied/);
    expect(await create(api, "c")).toBe("admitted");
    expect(await create(api, "free", checked)).toBe("admitted");
    expect(await create(api, "d", { ...checked, data: { mine: "" } })).toBe("admitted");
  });

  test("is evaluated for scales, statuses, deletions and connections if its rules name them", async () => {
    await using api = await startServer();
    await define(api, "widgets", { replicas: { type: "integer" } });
    const reported =
      "request.operation + ' ' + request.kind.kind + ' ' + request.resource.resource + '/' + request.?subResource.orValue('')";
    await validating(api, "p", {
      rule: {
        resources: ["*/scale", "widgets/status", "configmaps", "pods/exec"],
        operations: ["UPDATE", "DELETE", "CONNECT"],
      },
      spec: valid("false", { messageExpression: reported }),
    });
    await made(api, DEPLOYMENTS, deployment("a"));
    await made(api, WIDGETS, widget("w", { replicas: 1 }));
    await made(api, CONFIG_MAPS, configMap("c"));
    await made(api, "/api/v1/namespaces/default/pods", pod("p"));
    const scaled = { spec: { replicas: 3 } };
    expect(outcome(await api.mergePatch(`${DEPLOYMENTS}/a/scale`, scaled))).toBe(
      "denied: UPDATE Scale deployments/scale",
    );
    expect(outcome(await api.mergePatch(`${WIDGETS}/w/scale`, scaled))).toBe("denied: UPDATE Scale widgets/scale");
    expect(outcome(await api.mergePatch(`${WIDGETS}/w`, scaled))).toBe("admitted");
    const phase = { status: { phase: "x" } };
    expect(outcome(await api.mergePatch(`${WIDGETS}/w/status`, phase))).toBe("denied: UPDATE Widget widgets/status");
    expect(outcome(await api.delete(`${CONFIG_MAPS}/c`))).toBe("denied: DELETE ConfigMap configmaps/");
    expect(outcome(await api.delete(CONFIG_MAPS))).toBe("denied: DELETE ConfigMap configmaps/");
    const exec = "/api/v1/namespaces/default/pods/p/exec?command=ls";
    expect(outcome(await api.create(exec, undefined))).toBe("denied: CONNECT PodExecOptions pods/exec");
    expect((await api.get(`${CONFIG_MAPS}/c`)).status).toBe(200);
  });

  test("cannot prevent the deletion of policies or the creation of access reviews", async () => {
    await using api = await startServer();
    await validating(api, "p", { rule: { resources: ["*"], operations: ["*"] }, spec: valid("false") });
    expect(await create(api, "a")).toMatch(/^denied/);
    const review = { spec: { resourceAttributes: { verb: "get", resource: "pods" } } };
    expect((await api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)).status).toBe(201);
    expect((await api.delete(`${GROUP}/validatingadmissionpolicies/p`)).status).toBe(200);
    await api.world.advance(1_000);
    expect(await create(api, "a")).toBe("admitted");
  });
});

async function allow(api: TestServer, name: string, rule: Json): Promise<void> {
  await made(api, `${RBAC}/clusterroles`, { metadata: { name }, rules: [rule] });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "bob" }];
  await made(api, `${RBAC}/clusterrolebindings`, { metadata: { name }, roleRef, subjects });
}

describe("a mutating policy", () => {
  const patch = (expression: string): Json => ({ patchType: "JSONPatch", jsonPatch: { expression } });

  test("changes the object, with parameters and match conditions, before validating policies see it", async () => {
    await using api = await startServer();
    await mutating(api, "m", {
      binding: { paramRef: { name: "params", namespace: "default", parameterNotFoundAction: "Allow" } },
      spec: {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        variables: [{ name: "team", expression: "params.data.team + '!'" }],
        matchConditions: [{ name: "unset", expression: "!has(object.data.team)" }],
        mutations: [patch("[JSONPatch{op: 'add', path: '/data/team', value: variables.team}]")],
      },
    });
    await validating(api, "p", { spec: valid("object.data.?team.orValue('') != 'bad!'") });
    await made(api, CONFIG_MAPS, configMap("params", { data: { team: "red" } }));
    expect((await api.create(CONFIG_MAPS, configMap("one"))).body.data).toEqual({ a: "1", team: "red!" });
    expect((await api.get(`${CONFIG_MAPS}/one`)).body.data).toEqual({ a: "1", team: "red!" });
    expect((await api.create(CONFIG_MAPS, configMap("two", { data: { team: "own" } }))).body.data).toEqual({
      team: "own",
    });
    await api.mergePatch(`${CONFIG_MAPS}/params`, { data: { team: "bad" } });
    expect(await create(api, "three")).toMatch(/^denied/);
  });

  test("merges an apply configuration into built-in and custom resources", async () => {
    await using api = await startServer();
    await define(api, "widgets", { replicas: { type: "integer" }, color: { type: "string" } });
    const side = "Object.spec.template.spec.containers{name: 'side', image: 'side'}";
    const template = `Object.spec.template{spec: Object.spec.template.spec{containers: [${side}]}}`;
    const apply = (expression: string): Json => ({
      patchType: "ApplyConfiguration",
      applyConfiguration: { expression },
    });
    await mutating(api, "sidecar", {
      rule: { resources: ["deployments"] },
      spec: { mutations: [apply(`Object{spec: Object.spec{template: ${template}}}`)] },
    });
    await mutating(api, "paint", {
      rule: { resources: ["widgets"] },
      spec: { mutations: [apply("Object{spec: Object.spec{color: 'red'}}")] },
    });
    const { spec } = (await api.create(DEPLOYMENTS, deployment("a"))).body;
    expect(spec.template.spec.containers.map(({ name }: Json) => name)).toEqual(["main", "side"]);
    expect((await api.create(WIDGETS, widget("w", { replicas: 1 }))).body.spec).toEqual({ replicas: 1, color: "red" });
  });
});

test("warnings about an object are returned even if the request fails with a conflict or a policy denies it", async () => {
  await using api = await startServer();
  await validating(api, "p", {
    rule: { resources: ["pods"], operations: ["*"] },
    spec: valid("object.metadata.name == 'a'"),
  });
  const old = (name: string): Json => pod(name, { nodeSelector: { "beta.kubernetes.io/arch": "x" } });
  const PODS = "/api/v1/namespaces/default/pods";
  const WARNING = expect.stringContaining("spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14");
  const reported = (response: ApiTestResponse): unknown => [response.status, header(response, "warning")];
  expect(reported(await api.create(PODS, old("a")))).toEqual([201, WARNING]);
  expect(reported(await api.create(PODS, old("a")))).toEqual([409, WARNING]);
  expect(reported(await api.create(PODS, old("b")))).toEqual([422, WARNING]);
});

test("warnings about an updated object are returned even if a policy denies the update", async () => {
  await using api = await startServer();
  const SERVICES = "/api/v1/namespaces/default/services";
  const service = { metadata: { name: "a" }, spec: { type: "ExternalName", externalName: "x.example.com" } };
  const { body } = await api.create(SERVICES, service);
  await validating(api, "p", { rule: { resources: ["services"], operations: ["UPDATE"] }, spec: valid("false") });
  const changed = { ...body, spec: { ...body.spec, externalIPs: ["192.0.2.1"] } };
  const denied = await api.put(`${SERVICES}/a`, changed);
  expect([denied.status, header(denied, "warning")]).toEqual([
    422,
    expect.stringContaining("spec.externalIPs is ignored"),
  ]);
});

test("a policy that is created through one server is enforced by the other servers too", async () => {
  const world = new World({ seed: 3 });
  await using one = await startServer({ world });
  await using other = await startServer({ world });
  await validating(one, "p", { spec: valid("object.data.a == '2'") });
  expect(await create(other, "x")).toMatch(/^denied/);
  await other.delete(`${GROUP}/validatingadmissionpolicybindings/p`);
  await world.advance(1_000);
  expect(await create(one, "x")).toBe("admitted");
});

test("policies are not enforced if the ValidatingAdmissionPolicy plugin is disabled", async () => {
  const disableAdmissionPlugins = ["ServiceAccount", "ValidatingAdmissionPolicy"];
  await using api = await startServer({ access: { disableAdmissionPlugins } });
  await validating(api, "p", { spec: valid("false") });
  expect(await create(api, "one")).toBe("admitted");
});

describe("a server that has just started", () => {
  /** The duration of every list of stored objects. Before this time, the server has read no policy. */
  const LOAD_MS = 1_001;

  test.each([0, LOAD_MS, LOAD_MS + 1, LOAD_MS + 4])(
    "%d ms after its start, does not admit a request that a stored policy denies",
    async (ms) => {
      const world = new World({ seed: 2 });
      await using one = await startServer({ world });
      await validating(one, "p", { spec: valid("false") });
      const wrapKv = (kv: Kv): Kv =>
        overlaidKv(kv, {
          async range(request) {
            if (request.end !== undefined) await new Promise<void>((done) => void world.clock.after(LOAD_MS, done));
            return kv.range(request);
          },
        });
      const access = {
        disableAdmissionPlugins: ["ServiceAccount", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"],
      };
      await using late = await startServer({ world, access, skipReady: true, wrapKv });
      await world.advance(ms);
      expect(await create(late, "a")).toMatch(ms < LOAD_MS ? /^503/ : /^denied/);
      await world.run(late.server.ready);
    },
  );
});

test("validating admission sees the numbers that a Service gets, and those of a denied Service are released", async () => {
  await using api = await startServer();
  const services = "/api/v1/namespaces/default/services";
  const rule = { resources: ["services"], operations: ["CREATE", "UPDATE"] };
  const seen = "object.spec.clusterIPs[0] + ' ' + string(object.spec.ports[0].?nodePort.orValue(0))";
  const isAllowed = "object.metadata.name != 'denied' && object.spec.type == 'ClusterIP'";
  await validating(api, "p", { rule, spec: valid(isAllowed, { messageExpression: seen }) });
  const recorded = async (): Promise<unknown> => {
    const { items } = await api.kv.range({ start: "/registry/ranges/servicenodeports" });
    return [items[0]?.value, (await api.get("/apis/networking.k8s.io/v1/ipaddresses")).body.items.length];
  };
  const spec = { type: "NodePort", ports: [{ port: 80 }] };
  const body = { apiVersion: "v1", kind: "Service", metadata: { name: "denied" }, spec };
  const plain = { ...body, metadata: { name: "plain" }, spec: { ports: [{ port: 80 }] } };
  expect((await api.create(services, plain)).status).toBe(201);
  const before = await recorded();
  const both = /^denied: 10\.0\.0\.\d+ 3[0-2]\d{3}$/;
  expect(outcome(await api.create(`${services}?dryRun=All`, body))).toMatch(both);
  expect(outcome(await api.create(services, body))).toMatch(both);
  expect(outcome(await api.mergePatch(`${services}/plain`, { spec }))).toMatch(both);
  expect(await recorded()).toEqual(before);
});
