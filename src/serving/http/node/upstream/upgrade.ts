/** Connects the client and the server of an upgraded request, such as exec. */
import type { Duplex } from "node:stream";

/**
 * Connects the two ends of an upgraded connection until both have ended. An end that has stopped sending may continue
 * to read, so all bytes that the other end sends still arrive. If one end breaks, the other is broken too.
 */
export function join(upstream: Duplex, client: Duplex, firstBytes: Buffer): void {
  for (const end of [upstream, client]) {
    end.allowHalfOpen = true;
    end.on("error", ignore);
  }
  breakTogether(upstream, client);
  breakTogether(client, upstream);
  if (upstream.destroyed || client.destroyed) {
    upstream.destroy();
    client.destroy();
    return;
  }
  if (firstBytes.length > 0) client.write(firstBytes);
  upstream.pipe(client);
  client.pipe(upstream);
}

/**
 * If one end breaks, breaks the other. If one end closes after it has sent and received everything, the other end has
 * time to read its remaining bytes.
 */
function breakTogether(one: Duplex, other: Duplex): void {
  one.once("close", () => {
    if (!one.readableEnded || !one.writableFinished) other.destroy();
  });
}

function ignore(): void {}
