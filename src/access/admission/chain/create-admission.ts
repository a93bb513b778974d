/** Admission as a server has it: the plugins that are on, what they follow in the store, and whom they ask. */
import type { AdmissionPlugin, AdmissionRequest, ServedVersion } from "../admission.ts";
import { createAdmission, type AdmitRequest } from "../admit.ts";
import { compileMatchConditions } from "../expressions/match-conditions.ts";
import { inPluginOrder } from "../plugin-order.ts";
import { builtInPlugins } from "../plugins/built-in.ts";
import { TOLERATION_SECONDS_DEFAULT } from "../plugins/default-toleration-seconds.ts";
import { compileMutatingPolicy } from "../policies/compiled-mutations.ts";
import { compileValidatingPolicy } from "../policies/compiled-policy.ts";
import { createMutatingAdmissionPolicy } from "../policies/mutating-policy.ts";
import { createParamAccess } from "../policies/param-access.ts";
import { createPolicyTables } from "../policies/policy-table.ts";
import { createValidatingAdmissionPolicy } from "../policies/validating-policy.ts";
import { createWebhookMetrics } from "../webhooks/metrics.ts";
import { mutatingAdmissionWebhook } from "../webhooks/mutating.ts";
import { validatingAdmissionWebhook } from "../webhooks/validating.ts";
import { createWebhookTables } from "../webhooks/webhook-table.ts";
import { checkedResource, checkRoleWrite } from "../../auth/rbac/role-write.ts";
import type { WithUser } from "../../auth/user.ts";
import type { MetricsRegistry } from "../../../base/metrics.ts";
import type { CatalogueGroup } from "../../../objects/catalogue/catalogue.ts";
import { protobufTables } from "../../../objects/catalogue/protobuf-tables.ts";
import { releaseInfo, type ReleaseName } from "../../../objects/catalogue/release.ts";
import { celEnvironment } from "../../../objects/cel/environment.ts";
import type { CallWebhook, WebhookCallOptions } from "../../webhooks/webhook-client.ts";
import { readAnswer } from "../../webhooks/webhook-answer.ts";
import type { ResolveEndpoint } from "../../../serving/endpoints/resolve-request.ts";
import type { RequestAdmission } from "../../../serving/endpoints/resources.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { ObjectReader, ObjectTable } from "../../../meta/object-table.ts";
import { goZeros } from "../../../objects/go/go-zeros.ts";
import type { Admission, AdmittedWrite } from "../../../serving/registry/admission.ts";
import type { RegistryContext } from "../../../serving/registry/context.ts";
import type { ConfiguredAuthorization } from "../../auth/authorization-modes.ts";
import type { BackgroundTask } from "../../../base/background.ts";
import type { BaseEnv } from "../../../base/env.ts";
import { followObjects, preferredServed, type StoredObjectParts } from "../../../serving/resources/stored-objects.ts";
import { createChargeQuota } from "./charge-quota.ts";
import { createVersions, type Versions } from "./object-versions.ts";
import { createParamKinds } from "./param-kinds.ts";
import { createStatusZeros, type WithStatus } from "./status-zeros.ts";
import { createUntilLoaded } from "./until-loaded.ts";
import { gatesOf } from "../../../objects/catalogue/release-gates.ts";

export interface AdmissionParts {
  readonly env: BaseEnv;
  readonly config: { readonly release: ReleaseName; readonly access: { readonly admissionPlugins: readonly string[] } };
  readonly metrics: MetricsRegistry;
  readonly context: RegistryContext;
  readonly authorization: ConfiguredAuthorization;
  readonly objects: ObjectReader;
  /** How what is built in is followed in the store. */
  readonly followed: StoredObjectParts;
  /** Everything served, custom resources included. */
  readonly served: { readonly resolve: ResolveEndpoint; readonly groups: () => readonly CatalogueGroup[] };
  readonly callWebhook: CallWebhook;
}

export interface ServerAdmission {
  readonly admit: (request: WithUser, about: RequestAdmission) => Admission | undefined;
  readonly tasks: readonly BackgroundTask[];
}

const GROUP = "admissionregistration.k8s.io";

export function createServerAdmission(parts: AdmissionParts): ServerAdmission {
  const { config, context, followed } = parts;
  const { schemas } = followed.catalogue;
  const versions = createVersions({
    context,
    ...parts.served,
    zeros: goZeros(protobufTables),
    schemaOf: ({ group, version }, kind) => schemas.kind(group, version, kind),
  });
  const tasks: BackgroundTask[] = [];
  const untilLoaded = createUntilLoaded(parts.env.clock);
  const follow = (resource: string, table: ObjectTable): void => {
    const awaited = untilLoaded.awaited(table);
    const task = followObjects(followed, { group: GROUP, resource }, awaited);
    // Where the release does not know it there is none.
    if (task === undefined) awaited.reset([]);
    else tasks.push(task);
  };
  const plugins = inPluginOrder([
    ...builtIn(parts),
    ...policies(parts, versions, follow),
    ...webhooks(parts, versions, follow),
  ]);
  const withStatus = createStatusZeros(protobufTables);
  const enabled = new Set(config.access.admissionPlugins);
  const asked = createAdmission([
    untilLoaded.plugin,
    paramAccess(parts),
    ...plugins.filter(({ name }) => enabled.has(name)),
  ]);
  return {
    tasks,
    admit(request, about) {
      const base = admissionRequest(request, about, versions);
      const admission = asked(base) && writeByWrite(asked, base, withStatus);
      return withGrantChecked(parts, request, admission);
    },
  };
}

type Follow = (resource: string, table: ObjectTable) => void;

function builtIn(parts: AdmissionParts): readonly AdmissionPlugin[] {
  const { env, config, context, authorization, objects, followed } = parts;
  const { authorize: authorizer } = authorization.authorization;
  const { clock, random } = env;
  const seconds = TOLERATION_SECONDS_DEFAULT;
  return builtInPlugins({
    reader: objects,
    authorizer,
    clock,
    random,
    chargeQuota: createChargeQuota(context, preferredServed(followed)),
    resourcesOfKind: ({ group, version }, kind) =>
      (parts.served.groups().find(({ name }) => name === group)?.resources ?? [])
        .filter(({ versions }) => versions.some((one) => one.version === version && one.kind === kind))
        .map(({ resource, namespaced }) => ({ group, version, resource, isNamespaced: namespaced })),
    minor: Number(releaseInfo(config.release).minor),
    gates: gatesOf(config.release),
    tolerations: { notReadySeconds: seconds, unreachableSeconds: seconds },
  });
}

function webhooks(parts: AdmissionParts, versions: Versions, follow: Follow): readonly AdmissionPlugin[] {
  const { env, config, metrics, authorization, objects } = parts;
  const gates = gatesOf(config.release);
  const tables = createWebhookTables((conditions) => compileMatchConditions(conditions, { gates }));
  follow("mutatingwebhookconfigurations", tables.mutating);
  follow("validatingwebhookconfigurations", tables.validating);
  const common = {
    clock: env.clock,
    random: env.random,
    objects,
    authorizer: authorization.authorization.authorize,
    ask: (clientConfig: JsonObject, body: string, options: WebhookCallOptions) =>
      askWebhook(parts, { ...options, clientConfig, body }),
    metrics: createWebhookMetrics(metrics, env.clock),
    decode: (object: JsonObject, version: ServedVersion) => versions.decode(object, version),
  };
  return [
    mutatingAdmissionWebhook({ ...common, table: tables.mutating }),
    validatingAdmissionWebhook({ ...common, table: tables.validating }),
  ];
}

async function askWebhook(
  { callWebhook }: AdmissionParts,
  { clientConfig, body, ...options }: WebhookCallOptions & { readonly clientConfig: JsonObject; readonly body: string },
): Promise<JsonObject> {
  const answer = readAnswer(await callWebhook(clientConfig, body, options));
  if (typeof answer === "string") throw new Error(answer);
  return answer;
}

function policies(parts: AdmissionParts, versions: Versions, follow: Follow): readonly AdmissionPlugin[] {
  const { config, authorization, objects, context, served } = parts;
  const environment = celEnvironment(gatesOf(config.release));
  const validating = createPolicyTables((policy) => compileValidatingPolicy(policy, environment));
  const mutating = createPolicyTables((policy) => compileMutatingPolicy(policy, environment));
  follow("validatingadmissionpolicies", validating.policies);
  follow("validatingadmissionpolicybindings", validating.bindings);
  follow("mutatingadmissionpolicies", mutating.policies);
  follow("mutatingadmissionpolicybindings", mutating.bindings);
  const paramKinds = createParamKinds({ context, ...served });
  const common = { objects, paramKinds, authorizer: authorization.authorization.authorize };
  return [
    createMutatingAdmissionPolicy({ ...common, ...versions, tables: mutating }),
    createValidatingAdmissionPolicy({ ...common, tables: validating }),
  ];
}

function paramAccess({ authorization, objects, context, served }: AdmissionParts): AdmissionPlugin {
  const { authorize: authorizer } = authorization.authorization;
  return createParamAccess({ authorizer, objects, paramKinds: createParamKinds({ context, ...served }) });
}

function admissionRequest(request: WithUser, about: RequestAdmission, versions: Versions): AdmissionRequest {
  const { info, user, signal, audit } = request;
  const { served, options, dryRun, warn } = about;
  const groupVersion = { group: info.group, version: info.version };
  const kind = { ...about.kind.groupVersion, kind: about.kind.kind };
  const isOwnKind = about.kind.kind === served.kind && about.kind.groupVersion.group === served.groupVersion.group;
  return {
    user,
    groupVersion,
    resource: info.resource,
    subresource: info.subresource,
    kind,
    namespace: info.resource === "namespaces" && info.group === "" ? info.name : info.namespace,
    options,
    dryRun,
    warn,
    signal,
    versions: versions.of({ groupVersion, resource: info.resource, kind, isOwnKind }),
    annotate: (key, value) => audit?.annotate(key, value),
  };
}

function writeByWrite(asked: AdmitRequest, base: AdmissionRequest, withStatus: WithStatus): Admission {
  return {
    get hidesOwners() {
      return asked(base)?.hidesOwners === true;
    },
    async mutate(write) {
      const admission = asked(requestFor(base, write));
      if (admission === undefined) return write.object;
      const shown = withStatus(write.object);
      const object = await admission.mutate({ ...write, object: shown });
      return object === shown ? write.object : object;
    },
    async validate(write) {
      const object = write.object && withStatus(write.object);
      await asked(requestFor(base, write))?.validate({ ...write, object });
    },
  };
}

/** As kubernetes: a namespace that is created lies in itself, and who creates by an update has CreateOptions. */
function requestFor(base: AdmissionRequest, { operation, name }: AdmittedWrite): AdmissionRequest {
  if (operation !== "CREATE") return base;
  const { groupVersion, resource, options } = base;
  const isNamespace = resource === "namespaces" && groupVersion.group === "";
  const isUpdate = options?.["kind"] === "UpdateOptions";
  if (!isNamespace && !isUpdate) return base;
  return {
    ...base,
    ...(isNamespace ? { namespace: name } : {}),
    ...(isUpdate ? { options: { ...options, kind: "CreateOptions" } } : {}),
  };
}

/** Nobody grants what they do not hold: looked at when the object is as it is to be, and before it is found valid. */
function withGrantChecked(
  { authorization: { resolver, authorization }, objects }: AdmissionParts,
  { user, info }: WithUser,
  admission: Admission | undefined,
): Admission | undefined {
  const resource = info.subresource === "" ? checkedResource(info) : undefined;
  if (resource === undefined) return admission;
  const check = ({ object, existing }: AdmittedWrite & { readonly object: JsonObject }): Promise<void> =>
    checkRoleWrite({
      user,
      resolver,
      resource,
      object,
      existing,
      namespace: info.namespace,
      name: info.name,
      authorize: authorization.authorize,
      newest: (...asked) => objects.newest(...asked),
    });
  return {
    async mutate(write) {
      const object = admission === undefined ? write.object : await admission.mutate(write);
      await check({ ...write, object });
      return object;
    },
    validate: (write) => admission?.validate(write) ?? Promise.resolve(),
  };
}
