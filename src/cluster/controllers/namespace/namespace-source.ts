/** Which namespaces are to be looked at: those being deleted, when something about them or about the cluster is new. */
import type { Informer } from "../../../client/informer.ts";
import { jsonEquals, type JsonObject } from "../../../meta/json.ts";
import type { ClusterResources } from "../cluster-resources.ts";
import { signalSource, type Source } from "../runtime/controller.ts";
import { isTerminating, nameOf, type NamespaceObject } from "./objects.ts";

/** Runs the informer. Its own reports about a deletion are no news to whoever deletes. */
export function namespaceSource(informer: Informer<NamespaceObject>): Source {
  let hasSynced = (): boolean => false;
  return {
    get hasSynced() {
      return hasSynced();
    },
    async run(enqueue, signal) {
      const tell = (namespace: NamespaceObject): void => enqueue(nameOf(namespace));
      const registration = informer.addHandler({
        onAdd(namespace) {
          if (isTerminating(namespace)) tell(namespace);
        },
        onUpdate(namespace, before) {
          if (isTerminating(namespace) && isNews(namespace, before)) tell(namespace);
        },
        onDelete: tell,
      });
      hasSynced = () => registration.hasSynced;
      await informer.run(signal);
    },
  };
}

function isNews(namespace: NamespaceObject, before: NamespaceObject): boolean {
  return namespace === before || !jsonEquals(withoutReport(namespace), withoutReport(before));
}

function withoutReport({ status, metadata, ...rest }: NamespaceObject): JsonObject {
  const { resourceVersion: _version, managedFields: _managed, ...said } = metadata ?? {};
  return { ...rest, metadata: said, phase: status?.phase };
}

/** All namespaces being deleted, whenever what is served or what is in doubt becomes something else. */
export function resourcesSource(resources: ClusterResources, informer: Informer<NamespaceObject>): Source {
  return signalSource(
    (listener) => {
      let known = "";
      return resources.onChange(() => {
        if (!informer.list().some(isTerminating)) return;
        const now = fingerprint(resources);
        if (now !== known) listener();
        known = now;
      });
    },
    () => informer.list().filter(isTerminating).map(nameOf),
  );
}

/** Equal only if the same is served and the same in doubt. */
export function fingerprint(resources: ClusterResources): string {
  const served = resources.served().map(({ group, resource, versions }) => `${group}/${versions.join()}/${resource}`);
  const doubts = resources.doubts().map(({ group, resource, server, because }) => [group, resource, server, because]);
  return JSON.stringify([served, doubts]);
}
