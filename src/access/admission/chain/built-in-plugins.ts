/** Creates the built-in Kubernetes plugins with the ports that they need. */
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import { releaseInfo } from "../../../objects/catalog/release.ts";
import { preferredServed } from "../../../serving/resources/stored-objects.ts";
import type { AdmissionPlugin } from "../admission.ts";
import { builtInPlugins } from "../plugins/built-in.ts";
import type { AdmissionParts } from "./admission-parts.ts";
import { createChargeQuota } from "./charge-quota.ts";

export function createBuiltInPlugins(parts: AdmissionParts): readonly AdmissionPlugin[] {
  const { env, config, context, authorization, objects, followed } = parts;
  const { authorize: authorizer } = authorization.authorization;
  const { clock, random } = env;
  return builtInPlugins({
    reader: objects,
    authorizer,
    clock,
    random,
    epoch: context.store.cache.epoch,
    chargeQuota: createChargeQuota(context, preferredServed(followed)),
    resourcesOfKind: ({ group, version }, kind) =>
      (parts.served.groups().find(({ name }) => name === group)?.resources ?? [])
        .filter(({ versions }) => versions.some((one) => one.version === version && one.kind === kind))
        .map(({ resource, namespaced }) => ({ group, version, resource, isNamespaced: namespaced })),
    minor: Number(releaseInfo(config.release).minor),
    gates: gatesOf(config.release),
    tolerations: config.access.tolerations,
    podSecurity: config.access.podSecurity,
  });
}
