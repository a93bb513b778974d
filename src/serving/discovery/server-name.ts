/**
 * The name of a server in messages. The ID of a kube-apiserver that was found by its masterlease is a guess, so messages
 * name its address instead.
 */
export function serverName(id: string, calledAt: string | undefined): string {
  return calledAt === undefined ? id : `the kube-apiserver at ${calledAt}`;
}
