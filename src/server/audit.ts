/** The audit log of a server. Opened before the store, so that a log that cannot be written ends the start early. */
import type { Audit } from "../access/audit/create-audit.ts";
import { openAudit as openAuditWith } from "../access/audit/open-audit.ts";
import { accessOf } from "../access/auth/authorize.ts";
import { protobufTables } from "../objects/catalogue/protobuf-tables.ts";
import { decodeProtobufObject, PROTOBUF_MEDIA_TYPE } from "../objects/protobuf/decode.ts";
import { parseYaml } from "../objects/yaml/yaml.ts";
import type { Foundation } from "./foundation.ts";

export function openAudit({ env, config, metrics }: Foundation): Promise<Audit> {
  const { clock, random, log } = env;
  return openAuditWith({
    config: config.audit,
    openOutput: env.openAuditLog,
    clock,
    random,
    log,
    metrics,
    attributesOf: accessOf,
    readBody: decodeNonJsonBody,
  });
}

function decodeNonJsonBody(bytes: Buffer, mediaType: string): unknown {
  if (mediaType === PROTOBUF_MEDIA_TYPE) return decodeProtobufObject(bytes, protobufTables());
  return mediaType === "application/yaml" ? parseYaml(bytes.toString("utf8")).value : undefined;
}
