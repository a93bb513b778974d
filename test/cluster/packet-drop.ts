/**
 * Puts a server behind a router that can drop every packet, as if a cable were unplugged: neither side is notified. It
 * uses two network namespaces, each of which exists as long as the idle process in it.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { Command } from "../smoke/start-evenkeel.ts";
import { ip, namespacesMissing, openNamespace, release, testSubnet, type Namespace } from "./network-namespace.ts";

export interface BlackHole extends AsyncDisposable {
  /** The address of this process in the test network, and the address of the server. */
  readonly near: string;
  readonly far: string;
  /** The command line prefix that runs a program behind the router. */
  readonly wrapper: readonly string[];
  swallow(): void;
  pass(): void;
}

/** Returns the reason as a string if this process may not create network namespaces. */
export async function openBlackHole(): Promise<BlackHole | string> {
  const missing = namespacesMissing();
  if (missing !== undefined) return `${missing}, so the test of dropped packets was skipped`;
  const holders: Command[] = [];
  try {
    return connectThem(holders, { router: await openNamespace(holders), far: await openNamespace(holders) });
  } catch (thrown) {
    await release(holders);
    return `network namespaces could not be created, so the test of dropped packets was skipped: ${String(thrown)}`;
  }
}

function connectThem(
  holders: readonly Command[],
  namespaces: { readonly router: Namespace; readonly far: Namespace },
): BlackHole {
  const subnet = testSubnet(231, namespaces.router);
  const [near, far] = [`${subnet}.1`, `${subnet}.130`];
  const { pid, wrapper: inRouter } = namespaces.router;
  const { pid: farPid, wrapper: inFar } = namespaces.far;
  const [outer, inner] = [`ek${pid}o`, `ek${pid}i`];
  ip(`link add ${outer} type veth peer name r0`);
  ip(`link set r0 netns ${pid}`);
  ip(`link add ${inner} type veth peer name r1`, inRouter);
  ip(`link set ${inner} netns ${farPid}`, inRouter);
  ip(`addr add ${near}/25 dev ${outer}`);
  ip(`addr add ${subnet}.2/25 dev r0`, inRouter);
  ip(`addr add ${subnet}.129/25 dev r1`, inRouter);
  ip(`addr add ${far}/25 dev ${inner}`, inFar);
  ip(`link set ${outer} up`);
  for (const link of ["lo", "r0", "r1"]) ip(`link set ${link} up`, inRouter);
  for (const link of ["lo", inner]) ip(`link set ${link} up`, inFar);
  ip(`route add ${subnet}.128/25 via ${subnet}.2`);
  ip(`route add default via ${subnet}.129`, inFar);
  execFileSync(inRouter[0]!, [...inRouter.slice(1), "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
  return {
    near,
    far,
    wrapper: inFar,
    swallow: () => [near, far].forEach((address) => ip(`route add blackhole ${address}/32`, inRouter)),
    pass: () => [near, far].forEach((address) => ip(`route del blackhole ${address}/32`, inRouter)),
    [Symbol.asyncDispose]: () => release(holders),
  };
}

export interface Relay extends AsyncDisposable {
  readonly endpoint: string;
}

/** A TCP proxy that makes a server on the loopback interface reachable at another address of this machine. */
export async function openRelay(address: string, to: string): Promise<Relay> {
  const { hostname, port } = new URL(to);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect({ host: hostname, port: Number(port), noDelay: true });
    client.setNoDelay();
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        target.destroy();
      });
    }
    client.pipe(target);
    target.pipe(client);
  });
  server.listen(0, address);
  await once(server, "listening");
  return {
    endpoint: `http://${address}:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
