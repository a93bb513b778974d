import { expect, test } from "vitest";
import { enabledPlugins, fixedPlugins, missingPlugins, registeredPlugins } from "../plugin-order.ts";
import { NO_POD_SECURITY_CONFIGURATION } from "./pod-security/configuration.ts";
import { builtInPlugins } from "./built-in.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import { readerOf } from "../../../../test/testing/access/admission/plugins/attributes.ts";

/** Plugins that builtInPlugins does not create, because their configuration is stored in the cluster. */
const DYNAMIC: readonly string[] = [
  "MutatingAdmissionPolicy",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionWebhook",
];

test("builtInPlugins creates every implemented plugin without stored configuration, in kubernetes' order", () => {
  const plugins = builtInPlugins({
    reader: readerOf({}),
    authorizer: () => ({ allowed: false, reason: "" }),
    chargeQuota: () => Promise.resolve(undefined),
    resourcesOfKind: () => [],
    clock: { now: () => 0, monotonic: () => 0, after: () => () => undefined },
    random: { float: () => 0, bytes: (length) => new Uint8Array(length) },
    minor: 36,
    gates: gatesOf("1.36"),
    podSecurity: NO_POD_SECURITY_CONFIGURATION,
    tolerations: { notReadySeconds: 300, unreachableSeconds: 300 },
  });
  const absent = new Set([...DYNAMIC, ...missingPlugins(), ...fixedPlugins()]);
  const all = enabledPlugins({ enable: registeredPlugins(), disable: [] });
  expect(plugins.map(({ name }) => name)).toEqual(all.filter((name) => !absent.has(name)));
});
