/**
 * `evenkeel explain-route`: shows which server would serve a request and by which rule, without sending the request.
 */
import { Command } from "commander";
import { printable } from "../../base/printable.ts";
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { requestJson, withServerFlags, type ServerFlags } from "./request-server.ts";
import { isMinorVersion } from "../../cluster/peers/route.ts";
import { alignColumns } from "../../base/columns.ts";
import { CommandFailure } from "./failure.ts";

interface ExplainFlags extends ServerFlags {
  readonly contentType?: string;
  readonly compatibilityVersion?: string;
}

const TARGET = "/evenkeel/v1/route";

export function explainRouteCommand(): Command {
  return withServerFlags(
    new Command("explain-route")
      .summary("Show which server would serve a request, and why")
      .description("Show which server would serve a request, and by which rule. The request itself is not sent.")
      .argument("<verb>", "get, list, watch, create, update, patch, delete, deletecollection, or an HTTP method")
      .argument("<path>", "path with an optional query, for example /apis/batch/v1/namespaces/default/jobs")
      .option("--content-type <type>", "content type of a patch (default: application/merge-patch+json)")
      .option(
        "--compatibility-version <release>",
        "release of the client, for example 1.36, as sent in the compatibility version header",
      ),
  ).action((verb: string, path: string, flags: ExplainFlags) => explainRoute(verb, path, flags));
}

async function explainRoute(verb: string, path: string, flags: ExplainFlags): Promise<void> {
  if (!path.startsWith("/")) throw new CommandFailure(`the path must begin with a slash: ${JSON.stringify(path)}`, 2);
  const { compatibilityVersion: release } = flags;
  if (release !== undefined && !isMinorVersion(release))
    throw new CommandFailure(
      `--compatibility-version must be a release such as 1.36, not ${JSON.stringify(release)}`,
      2,
    );
  const query = new URLSearchParams({
    verb,
    path,
    ...(flags.contentType === undefined ? {} : { contentType: flags.contentType }),
    ...(flags.compatibilityVersion === undefined ? {} : { compatibilityVersion: flags.compatibilityVersion }),
  });
  const response = await requestJson(flags, `${TARGET}?${query.toString()}`);
  process.stdout.write(
    flags.output === "json" ? `${JSON.stringify(response, undefined, 2)}\n` : explanationText(response),
  );
}

export function explanationText(answer: JsonObject): string {
  const route = objectAt(answer, "route");
  const request = objectAt(answer, "request");
  const server = objectAt(answer, "server");
  const [rule, sentence, reason] = [text(route, "rule"), text(route, "sentence"), text(route, "reason")];
  const rows = [
    ["request:", `${text(request, "method")} ${text(request, "path")}`],
    ["parsed as:", parsedRequestText(request)],
    ["received by:", `${text(server, "id")} (${text(server, "release")})`],
    ["result:", outcome(route)],
    ...(rule === ""
      ? []
      : [
          ["rule:", rule],
          ["", sentence],
        ]),
    ...(reason === sentence ? [] : [["reason:", reason]]),
  ];
  return alignColumns(rows);
}

function parsedRequestText(request: JsonObject): string {
  if (request["isResourceRequest"] !== true) return "not a resource request";
  const [group, version, namespace, name] = ["group", "version", "namespace", "name"].map((key) => text(request, key));
  const subresource = text(request, "subresource");
  const contentType = text(request, "contentType");
  const compatibilityVersion = text(request, "compatibilityVersion");
  const words = [
    text(request, "verb") || "no verb",
    text(request, "resource") + (subresource === "" ? "" : `/${subresource}`),
    `of ${group === "" ? "" : `${group}/`}${version}`,
    ...(name === "" ? [] : [`named ${name}`]),
    ...(namespace === "" ? [] : [`in namespace ${namespace}`]),
    ...(contentType === "" ? [] : [`as ${contentType}`]),
    ...(compatibilityVersion === "" ? [] : [`from a client of ${compatibilityVersion}`]),
  ];
  return words.join(" ");
}

function outcome(route: JsonObject): string {
  switch (stringAt(route, "kind")) {
    case "local":
      return "served by the local server";
    case "peer":
      return `served by ${candidates(route)}`;
    case "unavailable": {
      const { retryAfterSeconds } = route;
      return `503 Service Unavailable${typeof retryAfterSeconds === "number" ? `, retry after ${retryAfterSeconds} s` : ""}`;
    }
    case "unknown":
      return `404 Not Found: ${text(route, "message")}`;
    default:
      return text(route, "kind");
  }
}

/** The servers of a route as "b or c, else d": b and c are equally preferred. */
function candidates(route: JsonObject): string {
  const tiers = Array.isArray(route["candidates"]) ? route["candidates"].filter(Array.isArray) : [];
  return tiers.map((tier) => tier.map((id) => printable(String(id))).join(" or ")).join(", else ");
}

function text(parent: JsonObject, key: string): string {
  return printable(stringAt(parent, key));
}
