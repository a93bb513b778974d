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

test("what is on by default comes in kubernetes' order", () => {
  expect(defaultPlugins().slice(0, 4)).toEqual([
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "TaintNodesByCondition",
  ]);
  expect(defaultPlugins().slice(-2)).toEqual(["ValidatingAdmissionWebhook", "ResourceQuota"]);
  expect([defaultPlugins().length, registeredPlugins().length]).toEqual([27, 41]);
});

test("flags switch on and off; what is both enabled and disabled is refused elsewhere and on here", () => {
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
])("%j is answered as kube-apiserver does", (choice, errors) => {
  expect(pluginChoiceErrors(choice)).toEqual(errors);
});

test("who asks for a plugin that would check nothing is told so", () => {
  const why = 'enable-admission-plugins plugin "PodNodeSelector" does nothing here';
  expect(pluginChoiceErrors({ enable: ["PodNodeSelector", "Priority"], disable: [] })).toEqual([why]);
});

test("it can be told which plugins do nothing here, and which cannot be switched off", () => {
  expect(missingPlugins()).toContain("ImagePolicyWebhook");
  expect(fixedPlugins()).toEqual(["NamespaceLifecycle", "NamespaceExists", "StorageObjectInUseProtection"]);
});

test("plugins are put into kubernetes' order", () => {
  const given = ["ResourceQuota", "LimitRanger", "Priority"].map((name) => ({ name }));
  expect(inPluginOrder(given).map(({ name }) => name)).toEqual(["LimitRanger", "Priority", "ResourceQuota"]);
});
