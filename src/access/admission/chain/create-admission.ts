/** Creates the admission chain of a server: the enabled plugins, their watches and their ports. */
import type { BackgroundTask } from "../../../base/background.ts";
import type { ObjectTable } from "../../../meta/object-table.ts";
import type { StatusError } from "../../../meta/status-error.ts";
import { protobufTables } from "../../../objects/catalog/protobuf-tables.ts";
import { goZeros } from "../../../objects/go/go-zeros.ts";
import type { RequestAdmission } from "../../../serving/endpoints/resources.ts";
import type { Admission } from "../../../serving/registry/admission.ts";
import { watchObjects } from "../../../serving/resources/stored-objects.ts";
import type { WithUser } from "../../auth/user.ts";
import { createAdmission } from "../admit.ts";
import { inPluginOrder } from "../plugin-order.ts";
import type { AdmissionParts } from "./admission-parts.ts";
import { admissionRequest, writeByWrite } from "./admission-request.ts";
import { identityLeases } from "../plugins/identity-leases.ts";
import { createBuiltInPlugins } from "./built-in-plugins.ts";
import { withGrantChecked } from "./grant-check.ts";
import { createVersions } from "./object-versions.ts";
import { createParamAccessPlugin, createPolicyPlugins } from "./policy-plugins.ts";
import { createStatusZeros } from "./status-zeros.ts";
import { createUntilLoaded } from "./until-loaded.ts";
import { createWebhookPlugins } from "./webhook-plugins.ts";

export interface ServerAdmission {
  readonly admit: (request: WithUser, about: RequestAdmission) => Admission | undefined;
  readonly tasks: readonly BackgroundTask[];
}

const GROUP = "admissionregistration.k8s.io";

export function createServerAdmission(parts: AdmissionParts): ServerAdmission {
  const { config, context, followed } = parts;
  const { schemas } = followed.catalog;
  const versions = createVersions({
    context,
    ...parts.served,
    zeros: goZeros(protobufTables),
    schemaOf: ({ group, version }, kind) => schemas.kind(group, version, kind),
  });
  const tasks: BackgroundTask[] = [];
  const untilLoaded = createUntilLoaded(parts.env.clock);
  const follow = (resource: string, table: ObjectTable): void => {
    const unreadable = new Map<string, StatusError>();
    const awaited = untilLoaded.awaited(table, unreadable);
    const task = watchObjects(followed, { group: GROUP, resource }, awaited, unreadable);
    // If the release does not serve the resource, the table stays empty and counts as loaded.
    if (task === undefined) awaited.reset([]);
    else tasks.push(task);
  };
  const plugins = inPluginOrder([
    ...createBuiltInPlugins(parts),
    ...createPolicyPlugins(parts, versions, follow),
    ...createWebhookPlugins(parts, versions, follow),
  ]);
  const withStatus = createStatusZeros(protobufTables);
  const enabled = new Set(config.access.admissionPlugins);
  const asked = createAdmission([
    untilLoaded.plugin,
    createParamAccessPlugin(parts),
    identityLeases(),
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
