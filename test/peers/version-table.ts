/** Parses the table of docs/versions.md that defines which server serves a request. */
import { readFileSync } from "node:fs";
import { peerOf, viewOf } from "../testing/cluster/peers/cluster-view.ts";
import type { ClusterView, PeerView } from "../../src/cluster/peers/view.ts";

export interface VersionRow {
  /** The value of the client's header, if any. */
  readonly header: string | undefined;
  readonly isProxied: boolean;
  readonly view: ClusterView;
  /** "b or c, else a", "503 with a Warning" */
  readonly answeredBy: string;
  /** The line itself. */
  readonly what: string;
}

export const WIDGETS = { "example.com/v1": { widgets: "get list" } };

export function versionRows(): VersionRow[] {
  const document = readFileSync(new URL("../../docs/versions.md", import.meta.url), "utf8");
  const lines = document.split("\n");
  const first = lines.findIndex((line) => line.startsWith("| client says"));
  const afterwards = lines.slice(first + 2);
  return afterwards.slice(0, afterwards.indexOf("")).map(toRow);
}

function toRow(line: string): VersionRow {
  const [client = "", asked = "", b = "", c = "", answeredBy = ""] = line
    .split("|")
    .slice(1)
    .map((cell) => cell.trim());
  const isProxied = client.endsWith(" by a peer");
  const said = client.replace(" by a peer", "");
  const isSynced = asked !== "not synced";
  const view = viewOf({
    self: { id: "a", release: isSynced ? asked.split(" ")[0]! : "1.35" },
    isSynced,
    local: asked.endsWith(" without") ? {} : WIDGETS,
    peers: [toPeer("b", b), toPeer("c", c)],
  });
  return {
    header: said === "nothing" ? undefined : said,
    isProxied,
    view,
    answeredBy,
    what: line.replaceAll(/\s+/g, " "),
  };
}

function toPeer(id: string, cell: string): PeerView {
  const [release, state] = cell === "not told" ? [undefined, undefined] : cell.split(" ");
  return peerOf(id, {
    release,
    isDraining: state === "leaving",
    isReachable: state !== "unreachable",
    serves: state === "undescribed" ? undefined : state === "without" ? {} : WIDGETS,
  });
}
