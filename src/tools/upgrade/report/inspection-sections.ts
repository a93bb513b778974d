/** The tables of the page of an inspection: what is stored, who writes it, and the state of what an upgrade touches. */
import { printable } from "../../../base/printable.ts";
import type {
  CustomResourceDefinitionState,
  EncodingTally,
  Inspection,
  NamedCount,
  ResourceTally,
} from "../inspect/inspection.ts";
import { htmlCell, htmlRow, htmlTable, longCell } from "./html-table.ts";
import { bytesText, countText } from "./quantities.ts";
import { encryptionKeyTitle, resourceTitle, versionsText } from "./tallies.ts";

export interface PageSection {
  readonly id: string;
  readonly title: string;
  /** "" if there is nothing to show. */
  readonly markup: string;
}

const ENCODINGS: readonly (keyof EncodingTally)[] = ["protobuf", "json", "encrypted"];
/** The user coordinates of the bar that shows a share; the style sets its size. */
const BAR_WIDTH = 100;

export function inspectionSections(inspection: Inspection): readonly PageSection[] {
  return [
    { id: "stored", title: "Stored", markup: stored(inspection) },
    { id: "clients", title: "Clients and API versions", markup: clients(inspection) },
    { id: "crds", title: "Custom resource definitions", markup: customResources(inspection) },
    { id: "encryption", title: "Encryption keys", markup: encryption(inspection) },
    { id: "namespaces", title: "Namespaces", markup: namespaces(inspection) },
    { id: "servers", title: "API servers", markup: servers(inspection) },
    { id: "storage-versions", title: "Storage versions", markup: storageVersions(inspection) },
    { id: "large", title: "Largest objects", markup: large(inspection) },
    { id: "unreadable", title: "Unreadable values", markup: unreadable(inspection) },
  ];
}

function stored({ resources, read }: Inspection): string {
  if (read.notKnown !== undefined)
    return table(
      ["Resource", "Objects"],
      resources.map((one) => row(resourceTitle(one), [number(one.objects)])),
    );
  const bytesMax = Math.max(1, ...resources.map(({ bytes }) => bytes));
  return table(
    ["Resource", "Objects", "Size", "", "Encoding", "Stored versions", "Unreadable"],
    resources.map((one) =>
      row(resourceTitle(one), [
        number(one.objects),
        size(one.bytes),
        bar(one.bytes / bytesMax),
        text(encodings(one)),
        long(versionsText(one)),
        number(one.unreadable),
      ]),
    ),
  );
}

function encodings({ encodings: tally }: ResourceTally): string {
  return ENCODINGS.filter((encoding) => tally[encoding] > 0)
    .map((encoding) => `${encoding} ${countText(tally[encoding])}`)
    .join(", ");
}

function clients({ clients: all }: Inspection): string {
  return table(
    ["Manager", "Resource", "API version", "State", "Objects", "Last write", "Use instead"],
    all.map(({ manager, apiVersion, objects, lastTime, status, release, replacement, ...resource }) =>
      row(manager, [
        long(resourceTitle(resource)),
        long(apiVersion),
        text(release === undefined ? status : `${status} in ${release}`),
        number(objects),
        text(lastTime ?? ""),
        long(replacement ?? ""),
      ]),
    ),
  );
}

function customResources({ customResources: all, read }: Inspection): string {
  const areCounted = read.notKnown === undefined;
  return table(
    ["CRD", "Versions", "storedVersions", "Can be dropped", "Conversion"],
    all.map((crd) =>
      row(crd.name, [
        long(versions(crd, areCounted)),
        long(crd.storedVersions.join(", ")),
        long(crd.droppable.join(", ")),
        long(crd.webhook === undefined ? crd.conversion : `${crd.conversion} ${crd.webhook}`),
      ]),
    ),
  );
}

function versions({ versions: all }: CustomResourceDefinitionState, areCounted: boolean): string {
  return all
    .map(({ version, objects, isDeclared, isServed, isStorage, isDeprecated }) => {
      const state = [
        ...(areCounted ? [`${countText(objects)} stored`] : []),
        ...(isDeclared ? [] : ["not declared"]),
        ...(isDeclared && !isServed ? ["not served"] : []),
        ...(isStorage ? ["storage version"] : []),
        ...(isDeprecated ? ["deprecated"] : []),
      ];
      return state.length === 0 ? version : `${version} (${state.join(", ")})`;
    })
    .join(", ");
}

function encryption({ encryption: { keys } }: Inspection): string {
  return table(
    ["Key", "Values", "Size", "State", "Resources"],
    keys.map((key) =>
      row(encryptionKeyTitle(key), [
        number(key.values),
        size(key.bytes),
        text(key.isWriter ? `${key.status}, encrypts new values` : key.status),
        long(key.resources.join(", ")),
      ]),
    ),
  );
}

function namespaces({ namespaces: { terminating, missing } }: Inspection): string {
  const rows = [
    ...terminating.map(({ name, since, objects, content, finalizers, contentFinalizers }) =>
      row(name, [
        text(since === undefined ? "Terminating" : `Terminating since ${since}`),
        number(objects),
        long(counts(content)),
        long([...finalizers, ...contentFinalizers.map(({ name: finalizer }) => finalizer)].join(", ")),
      ]),
    ),
    ...missing.map(({ name, objects, content }) =>
      row(name, [text("does not exist"), number(objects), long(counts(content)), text("")]),
    ),
  ];
  return table(["Namespace", "State", "Objects", "Content", "Finalizers"], rows);
}

function servers({ from, identityLeases }: Inspection): string {
  const found = from.servers.map(({ name, version, flags }) =>
    row(name, [text(version ?? ""), text(""), long(flags.join(" "))]),
  );
  const leases = identityLeases.map(({ name, state, renewTime, hostname }) =>
    row(name, [
      text(""),
      text(renewTime === undefined ? state : `${state}, renewed ${renewTime}`),
      long(hostname ?? ""),
    ]),
  );
  return table(["Server or identity lease", "Version", "Lease", "Flags or host"], [...found, ...leases]);
}

function storageVersions({ storageVersions: all }: Inspection): string {
  return table(
    ["Resource", "Common version", "Servers"],
    all.map(({ name, commonEncodingVersion, servers: each, isAgreed }) =>
      row(name, [
        text(commonEncodingVersion ?? (isAgreed ? "" : "none")),
        long(
          each
            .map(({ server, encodingVersion, isLive }) => `${server} ${encodingVersion}${isLive ? "" : " (not live)"}`)
            .join(", "),
        ),
      ]),
    ),
  );
}

function large({ largestObjects, managers }: Inspection): string {
  const objects = table(
    ["Object", "Size"],
    largestObjects.map(({ name, bytes }) => row(name, [size(bytes)])),
  );
  const owners = table(
    ["Field manager", "Objects", "Size of these objects"],
    managers.map(({ manager, objects: count, bytes }) =>
      row(manager, [number(count), bytes === 0 ? text("") : size(bytes)]),
    ),
  );
  return objects + owners;
}

function unreadable({ unreadable: { values, count } }: Inspection): string {
  const hidden = count - values.length;
  const more = hidden > 0 ? `<p>and ${countText(hidden)} more</p>` : "";
  return (
    table(
      ["Key", "Reason"],
      values.map(({ key, reason }) => row(key, [long(reason)])),
    ) + more
  );
}

function counts(all: readonly NamedCount[]): string {
  return all.map(({ name, count }) => `${name} ${countText(count)}`).join(", ");
}

function table(head: readonly string[], rows: readonly string[]): string {
  return rows.length === 0 ? "" : htmlTable(head, rows);
}

function row(name: string, cells: readonly string[]): string {
  return htmlRow(printable(name), cells);
}

function text(value: string): string {
  return htmlCell(printable(value));
}

function long(value: string): string {
  return longCell(printable(value));
}

function number(count: number): string {
  return `<td class="number">${countText(count)}</td>`;
}

function size(bytes: number): string {
  return `<td class="number">${bytesText(bytes)}</td>`;
}

/** The policy of the page forbids style attributes, so the bar is an SVG rectangle. */
function bar(share: number): string {
  const width = Math.round(share * BAR_WIDTH);
  return `<td><svg class="share" viewBox="0 0 ${BAR_WIDTH} 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="10"/></svg></td>`;
}
