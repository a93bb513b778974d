/** Parses the table in docs/versions.md that defines which server serves a request. */
import { readFileSync } from "node:fs";
import { peerOf, viewOf } from "../testing/cluster/peers/cluster-view.ts";
import type { ClusterView, PeerView } from "../../src/cluster/peers/view.ts";

export interface VersionRow {
  /** The value of X-Kubernetes-Compatibility-Version; undefined if the client does not send it. */
  readonly header: string | undefined;
  readonly isProxied: boolean;
  readonly view: ClusterView;
  /** The last cell, for example "b or c, else a" or "503 with a Warning". */
  readonly servedBy: string;
  /** The whole line of the table. */
  readonly what: string;
}

export const WIDGETS = { "example.com/v1": { widgets: "get list" } };

export function versionRows(): VersionRow[] {
  const document = readFileSync(new URL("../../docs/versions.md", import.meta.url), "utf8");
  const lines = document.split("\n");
  const first = lines.findIndex((line) => line.startsWith("| client sends"));
  const afterwards = lines.slice(first + 2);
  return afterwards.slice(0, afterwards.indexOf("")).map(toRow);
}

function toRow(line: string): VersionRow {
  const [client = "", asked = "", b = "", c = "", answeredBy = ""] = line
    .split("|")
    .slice(1)
    .map((cell) => cell.trim());
  const isProxied = client.endsWith(" via a peer");
  const said = client.replace(" via a peer", "");
  const isSynced = asked !== "not synced";
  const view = viewOf({
    self: { id: "a", release: isSynced ? asked.split(" ")[0]! : "1.35" },
    isSynced,
    local: asked.endsWith(" without") ? {} : WIDGETS,
    peers: [toPeer("b", b), toPeer("c", c)],
  });
  return {
    header: said === "no header" ? undefined : said,
    isProxied,
    view,
    servedBy: answeredBy,
    what: line.replaceAll(/\s+/g, " "),
  };
}

function toPeer(id: string, cell: string): PeerView {
  const [release, state] = cell === "unknown" ? [undefined, undefined] : cell.split(" ");
  return peerOf(id, {
    release,
    isDraining: state === "draining",
    isReachable: state !== "unreachable",
    serves: state === "undescribed" ? undefined : state === "without" ? {} : WIDGETS,
  });
}
