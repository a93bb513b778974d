/** An aggregated API server. `node main.ts --help` lists its flags; README.md shows how to register it. */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createApiServer, readKubeconfigs, type ApiServerOptions } from "evenkeel";
import { fischers } from "./fischers.ts";
import { flunders } from "./flunders.ts";

const { values: flags } = parseArgs({
  options: {
    help: { type: "boolean", default: false },
    "bind-address": { type: "string", default: "127.0.0.1" },
    "secure-port": { type: "string", default: "8443" },
    "data-dir": { type: "string" },
    "etcd-servers": { type: "string" },
    "requestheader-client-ca-file": { type: "string" },
    "token-auth-file": { type: "string" },
    kubeconfig: { type: "string" },
    "server-id": { type: "string" },
    "ca-file": { type: "string" },
  },
});

const HELP = `An API server for flunders and fischers.

  --secure-port, --bind-address     address to listen on (default 127.0.0.1:8443)
  --data-dir DIR                    directory of the embedded store
  --etcd-servers URL,…              etcd shared by several servers; with neither flag, objects are kept in memory
  --requestheader-client-ca-file F  CA of the main API server's front-proxy certificate
  --token-auth-file F               static tokens: token,user,uid
  --kubeconfig F                    kubeconfig of the main API server, to publish storage versions there
  --server-id ID                    server ID, to run several servers on one host
  --ca-file F                       file to write the CA of the serving certificate to
`;

function storage(): ApiServerOptions["storage"] {
  const { "etcd-servers": etcd, "data-dir": directory } = flags;
  if (etcd !== undefined) return { kind: "etcd", endpoints: etcd.split(",") };
  return directory === undefined ? { kind: "memory" } : { kind: "embedded", directory };
}

function fileOf(name: "requestheader-client-ca-file" | "token-auth-file"): string | undefined {
  const file = flags[name];
  return file === undefined ? undefined : readFileSync(file, "utf8");
}

async function main(): Promise<void> {
  const { "server-id": serverId, kubeconfig, "ca-file": caFile } = flags;
  const proxyCa = fileOf("requestheader-client-ca-file");
  const tokens = fileOf("token-auth-file");
  const server = await createApiServer({
    component: "wardle-apiserver",
    resources: [flunders, fischers],
    storage: storage(),
    listen: { host: flags["bind-address"], port: Number(flags["secure-port"]), names: ["api.wardle.svc"] },
    authentication: {
      ...(proxyCa === undefined ? {} : { requestHeader: { clientCa: proxyCa } }),
      ...(tokens === undefined ? {} : { tokens }),
    },
    ...(kubeconfig === undefined ? {} : { mainServer: readKubeconfigs([kubeconfig]) }),
    ...(serverId === undefined ? {} : { serverId }),
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void server.stop());
  if (caFile !== undefined) writeFileSync(caFile, server.ca ?? "");
  console.log(`wardle.example.com at ${server.url}`);
  await server.ready;
  console.log("Ready.");
}

if (flags.help) console.log(HELP);
else await main();
