/**
 * The key sources of the namespace controller: they enqueue namespaces that are being deleted when the namespace, the
 * served resources or the doubts have changed.
 */
import type { Informer } from "../../../client/informer.ts";
import { jsonEquals, type JsonObject } from "../../../meta/json.ts";
import type { ClusterResources } from "../cluster-resources.ts";
import { signalSource, type KeySource } from "../../controller-runtime/controller.ts";
import { isNamespaceTerminating, nameOf, type NamespaceObject } from "./objects.ts";

/** Enqueues namespaces when another client changes them. Condition updates of the controller itself enqueue nothing. */
export function namespaceSource(informer: Informer<NamespaceObject>): KeySource {
  let hasSynced = (): boolean => false;
  return {
    get hasSynced() {
      return hasSynced();
    },
    async run(enqueue, signal) {
      const tell = (namespace: NamespaceObject): void => enqueue(nameOf(namespace));
      const registration = informer.addHandler({
        onAdd(namespace) {
          if (isNamespaceTerminating(namespace)) tell(namespace);
        },
        onUpdate(namespace, before) {
          if (isNamespaceTerminating(namespace) && isRelevantChange(namespace, before)) tell(namespace);
        },
        onDelete: tell,
      });
      hasSynced = () => registration.hasSynced;
      await informer.run(signal);
    },
  };
}

function isRelevantChange(namespace: NamespaceObject, before: NamespaceObject): boolean {
  return namespace === before || !jsonEquals(withoutReport(namespace), withoutReport(before));
}

function withoutReport({ status, metadata, ...rest }: NamespaceObject): JsonObject {
  const { resourceVersion: _version, managedFields: _managed, ...said } = metadata ?? {};
  return { ...rest, metadata: said, phase: status?.phase };
}

/** Enqueues all namespaces being deleted whenever served resources or doubts change. */
export function resourcesSource(resources: ClusterResources, informer: Informer<NamespaceObject>): KeySource {
  return signalSource(
    (listener) => {
      let known = "";
      return resources.onChange(() => {
        if (!informer.list().some(isNamespaceTerminating)) return;
        const now = fingerprint(resources);
        if (now !== known) listener();
        known = now;
      });
    },
    () => informer.list().filter(isNamespaceTerminating).map(nameOf),
  );
}

/** A text that is equal only if served resources and doubts are equal. */
export function fingerprint(resources: ClusterResources): string {
  const served = resources.served().map(({ group, resource, versions }) => `${group}/${versions.join()}/${resource}`);
  const doubts = resources.doubts().map(({ group, resource, server, because }) => [group, resource, server, because]);
  return JSON.stringify([served, doubts]);
}
