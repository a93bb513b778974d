/**
 * A cache of Services and EndpointSlices. It starts its watches on first use, because most servers call no webhook or
 * aggregated API server through a Service.
 */
import { runTogether } from "../../base/run-together.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import type { ResourceType, UnstructuredObject } from "../../client/objects.ts";
import type { ServiceState } from "./service-resolver.ts";

export interface ServiceDirectory extends ServiceState {
  /** True when the cache is synced; false if the signal aborts first. The first call starts the watches. */
  ready(signal: AbortSignal): Promise<boolean>;
  onChange(handler: (namespace: string, name: string) => void): void;
  run(signal: AbortSignal): Promise<void>;
}

const SERVICES: ResourceType = { group: "", version: "v1", resource: "services", namespaced: true };
const ENDPOINT_SLICES: ResourceType = {
  group: "discovery.k8s.io",
  version: "v1",
  resource: "endpointslices",
  namespaced: true,
};
const SERVICE_NAME_LABEL = "kubernetes.io/service-name";
const BY_SERVICE = "service";

export function createServiceDirectory({
  client,
  onError,
}: {
  readonly client: Client;
  readonly onError: (thrown: unknown) => void;
}): ServiceDirectory {
  const services = client.informer<UnstructuredObject>(SERVICES, { onError });
  const slices = client.informer<UnstructuredObject>(ENDPOINT_SLICES, {
    onError,
    indexes: { [BY_SERVICE]: (slice) => [serviceOf(slice)].filter((service) => service !== undefined) },
  });
  const wanted = Promise.withResolvers<void>();
  return {
    service: (namespace, name) => services.get({ namespace, name }),
    endpointSlices: (namespace, name) => slices.byIndex(BY_SERVICE, `${namespace}/${name}`),
    async ready(signal) {
      wanted.resolve();
      return (await services.waitForSync(signal)) && slices.waitForSync(signal);
    },
    onChange(handler) {
      const tell = (key: string | undefined): void => {
        const [namespace, name] = key?.split("/") ?? [];
        if (namespace !== undefined && name !== undefined) handler(namespace, name);
      };
      follow(services, ({ metadata }) => tell(`${metadata?.namespace}/${metadata?.name}`));
      follow(slices, (slice) => tell(serviceOf(slice)));
    },
    async run(signal) {
      const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      if (!signal.aborted) await Promise.race([wanted.promise, stopped]);
      await runTogether(signal, [(until) => services.run(until), (until) => slices.run(until)]);
    },
  };
}

function follow(informer: Informer<UnstructuredObject>, tell: (object: UnstructuredObject) => void): void {
  informer.addHandler({
    onAdd: tell,
    onUpdate(object, before) {
      tell(object);
      tell(before);
    },
    onDelete: tell,
  });
}

/** The Service of an EndpointSlice as NAMESPACE/NAME, from the label of the slice. */
function serviceOf({ metadata }: UnstructuredObject): string | undefined {
  const name = metadata?.labels?.[SERVICE_NAME_LABEL];
  return name === undefined || name === "" ? undefined : `${metadata?.namespace ?? ""}/${name}`;
}
