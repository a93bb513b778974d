import type { Duplex } from "node:stream";

/**
 * Joins both ends of an upgraded connection until both have ended. Each end may stop sending and continue reading, so
 * the bytes that one end sent before it ended still arrive. If one breaks, the other is broken too.
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
 * Breaks the other end if one breaks. If one end closes after it has sent and received everything, the other end gets
 * time to read its remaining bytes.
 */
function breakTogether(one: Duplex, other: Duplex): void {
  one.once("close", () => {
    if (!one.readableEnded || !one.writableFinished) other.destroy();
  });
}

function ignore(): void {}
