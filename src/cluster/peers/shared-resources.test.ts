import { expect, test } from "vitest";
import { group, version } from "../../../test/testing/serving/discovery/documents.ts";
import { exclusionName } from "./exclusions.ts";
import { createServedSet } from "./served-set.ts";
import { createListsUnread, excludeShared, SharedResources, type SharedSource } from "./shared-resources.ts";

class Source implements SharedSource {
  readonly served = createServedSet([group("a.example", version("v1", "widgets"))]);
  loaded = false;
  listed: string[] = [];
  #listener: () => void = () => {};

  isLoaded(): boolean {
    return this.loaded;
  }

  names(): string[] {
    return this.listed;
  }

  onChange(listener: () => void): () => void {
    this.#listener = listener;
    return () => {};
  }

  change(...names: string[]): void {
    this.listed = names;
    this.#listener();
  }
}

const WIDGETS = { group: "a.example", version: "v1", resource: "widgets" };
const AGGREGATED = { group: "b.example", version: "v1", resource: "" };

test("the shared resources are those of all sources, and are loaded when all sources are loaded", () => {
  const shared = new SharedResources();
  const [custom, aggregated] = [new Source(), new Source()];
  shared.add(custom);
  shared.add(aggregated);
  custom.listed = ["one"];
  aggregated.listed = ["two"];
  custom.loaded = true;
  expect([...shared.names()]).toEqual(["one", "two"]);
  expect(shared.isLoaded()).toBe(false);
  aggregated.loaded = true;
  expect(shared.isLoaded()).toBe(true);
  expect(shared.served.has({ ...WIDGETS, subresource: "" })).toBe(true);
});

test("a listener is called also for changes of a source that is added later, until the listener is removed", () => {
  const shared = new SharedResources();
  let changes = 0;
  const leave = shared.onChange(() => changes++);
  const late = new Source();
  shared.add(late);
  late.change();
  leave();
  late.change();
  expect(changes).toBe(1);
});

test("the document of a peer is ignored for a shared resource, and for a deleted one during the grace period", () => {
  const shared = new SharedResources();
  const source = new Source();
  shared.add(source);
  source.loaded = true;
  let nowMs = 0;
  const clock = { monotonic: () => nowMs, now: () => nowMs, after: () => () => {} };
  const isExcluded = excludeShared({ clock, shared }, []);
  expect(isExcluded(WIDGETS)).toBe(false);
  source.change(exclusionName(WIDGETS), exclusionName(AGGREGATED));
  expect(isExcluded(WIDGETS)).toBe(true);
  expect(isExcluded({ ...AGGREGATED, resource: "anything" })).toBe(true);
  source.change();
  expect(isExcluded(WIDGETS)).toBe(true);
  nowMs = 3_600_000;
  expect(isExcluded(WIDGETS)).toBe(false);
});

test("a document lists an unread resource if the resource is neither built into a release nor known as a shared resource", () => {
  const listsUnread = createListsUnread(
    ({ group: name, resource }) => name === "a.example" && resource === "widgets",
    [group("apps", version("v1", "deployments"))],
  );
  expect(listsUnread([group("apps", version("v1", "deployments", "imaginary"))])).toBe(false);
  expect(listsUnread([group("resource.k8s.io", version("v1", "deviceclasses"))])).toBe(false);
  expect(listsUnread([group("a.example", version("v1", "widgets"))])).toBe(false);
  expect(listsUnread([group("a.example", version("v1", "widgets", "gadgets"))])).toBe(true);
});
