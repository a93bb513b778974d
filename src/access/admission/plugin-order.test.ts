import { expect, test } from "vitest";
import {
  fixedPlugins,
  defaultPlugins,
  enabledPlugins,
  inPluginOrder,
  missingPlugins,
  pluginChoiceErrors,
  registeredPlugins,
} from "./plugin-order.ts";

test("the default plugins are in kubernetes' order", () => {
  expect(defaultPlugins().slice(0, 4)).toEqual([
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "TaintNodesByCondition",
  ]);
  expect(defaultPlugins().slice(-2)).toEqual(["ValidatingAdmissionWebhook", "ResourceQuota"]);
  expect([defaultPlugins().length, registeredPlugins().length]).toEqual([27, 41]);
});

test("flags enable and disable plugins", () => {
  const names = enabledPlugins({ enable: ["AlwaysDeny", "NodeRestriction"], disable: ["ServiceAccount"] });
  expect(names.includes("ServiceAccount")).toBe(false);
  expect(names.indexOf("NodeRestriction")).toBe(names.indexOf("LimitRanger") + 1);
  expect(names.at(-1)).toBe("AlwaysDeny");
});

test.each([
  [{ enable: ["Nope"], disable: [] }, ['enable-admission-plugins plugin "Nope" is unknown']],
  [{ enable: [], disable: ["Nope"] }, ['disable-admission-plugins plugin "Nope" is unknown']],
  [
    { enable: ["Priority", "LimitRanger"], disable: ["LimitRanger", "Priority"] },
    ["[LimitRanger Priority] in enable-admission-plugins and disable-admission-plugins overlapped"],
  ],
  [{ enable: ["Priority"], disable: ["LimitRanger"] }, []],
  [{ enable: ["PodResizeValidator"], disable: ["PodNodeSelector"] }, []],
])("the flags %j have the errors of kube-apiserver", (choice, errors) => {
  expect(pluginChoiceErrors(choice)).toEqual(errors);
});

test("enabling a plugin that is off by default and not implemented is an error", () => {
  const why = 'enable-admission-plugins plugin "PodNodeSelector" is not implemented';
  expect(pluginChoiceErrors({ enable: ["PodNodeSelector", "Priority"], disable: [] })).toEqual([why]);
});

test("missingPlugins lists plugins that are not implemented, and fixedPlugins those that cannot be disabled", () => {
  expect(missingPlugins()).toContain("ImagePolicyWebhook");
  expect(fixedPlugins()).toEqual(["NamespaceLifecycle", "NamespaceExists", "StorageObjectInUseProtection"]);
});

test("inPluginOrder sorts plugins in kubernetes' order", () => {
  const given = ["ResourceQuota", "LimitRanger", "Priority"].map((name) => ({ name }));
  expect(inPluginOrder(given).map(({ name }) => name)).toEqual(["LimitRanger", "Priority", "ResourceQuota"]);
});
