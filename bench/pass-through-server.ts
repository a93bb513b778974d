/**
 * A plain Node program that forwards every request unchanged to one other server, over persistent connections with a
 * client certificate. It is the floor for the server that proxies a request.
 */
import { Agent, createServer, request as httpsRequest } from "node:https";

export interface PassThroughMessage {
  readonly cert: string;
  readonly key: string;
  readonly port: number;
  readonly destination: {
    readonly port: number;
    readonly ca: string;
    readonly serverName: string;
    readonly clientCert: string;
    readonly clientKey: string;
  };
}

const KEEP_ALIVE_MS = 600_000;

process.once("message", ({ cert, key, port, destination }: PassThroughMessage) => {
  const agent = new Agent({
    keepAlive: true,
    ca: destination.ca,
    cert: destination.clientCert,
    key: destination.clientKey,
    servername: destination.serverName,
  });
  const server = createServer({ cert, key, noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, response) => {
    const { method, url: path, headers } = incoming;
    const onward = httpsRequest(
      { agent, host: "127.0.0.1", port: destination.port, method, path, headers },
      (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { "content-length": "0" }).end();
    });
    incoming.pipe(onward);
  });
  server.listen(port, "127.0.0.1", () => process.send!("listening"));
});
process.on("disconnect", () => process.exit(0));
