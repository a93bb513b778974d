/** Encryption configurations for tests, with two keys, and a custom resource to encrypt. */
import type { ServerOptions } from "../../src/server/config.ts";

export const ONE = Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString("base64");
export const TWO = Buffer.alloc(32, 7).toString("base64");
export const IDENTITY = { identity: {} };

export type Provider = Record<string, unknown>;
type Configured = Required<Pick<ServerOptions, "encryption">>;

export function keyed(kind: string, ...keys: readonly (readonly [name: string, secret: string])[]): Provider {
  return { [kind]: { keys: keys.map(([name, secret]) => ({ name, secret })) } };
}

/** The option of a server that encrypts these resources. */
export function encryption(resources: readonly string[], ...providers: readonly Provider[]): Configured {
  return encryptionOf([{ resources, providers }]);
}

export function encryptionOf(resources: readonly object[]): Configured {
  return { encryption: { read: () => fileOf(resources) } };
}

/** The text of a file. */
export function fileOf(resources: readonly object[]): string {
  return JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration", resources });
}

export const KMS = {
  kms: { apiVersion: "v2", name: "test", endpoint: "unix:///run/kms.sock" },
};

export const WIDGETS = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};
