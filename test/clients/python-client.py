"""Uses the Python client as its users do, asserts each step, and prints the name of each completed step."""

import sys

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "default"


def config_map(name, data=None, labels=None):
    metadata = client.V1ObjectMeta(name=name, labels=labels)
    return client.V1ConfigMap(api_version="v1", kind="ConfigMap", metadata=metadata, data=data or {})


def refused(status, call):
    try:
        call()
    except ApiException as error:
        assert error.status == status, error
    else:
        raise AssertionError(f"expected {status}")


def typed():
    core = client.CoreV1Api()
    made = core.create_namespaced_config_map(NAMESPACE, config_map("typed", {"a": "1"}))
    assert made.metadata.uid and made.metadata.creation_timestamp.tzinfo is not None
    read = core.read_namespaced_config_map("typed", NAMESPACE)
    read.data["b"] = "2"
    replaced = core.replace_namespaced_config_map("typed", NAMESPACE, read)
    assert replaced.data == {"a": "1", "b": "2"}
    refused(409, lambda: core.replace_namespaced_config_map("typed", NAMESPACE, read))
    # A list is sent as a JSON patch, a mapping as a strategic merge patch.
    patched = core.patch_namespaced_config_map("typed", NAMESPACE, [{"op": "remove", "path": "/data/a"}])
    assert patched.data == {"b": "2"}
    status = core.delete_namespaced_config_map("typed", NAMESPACE)
    assert status.status == "Success", status
    refused(404, lambda: core.read_namespaced_config_map("typed", NAMESPACE))


def deployments():
    apps = client.AppsV1Api()
    labels = {"app": "snake"}
    container = client.V1Container(name="main", image="nginx:1")
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(replicas=2, selector=client.V1LabelSelector(match_labels=labels), template=template)
    apps.create_namespaced_deployment(
        NAMESPACE, client.V1Deployment(metadata=client.V1ObjectMeta(name="snake"), spec=spec)
    )
    read = apps.read_namespaced_deployment("snake", NAMESPACE)
    assert read.spec.replicas == 2 and read.spec.template.spec.containers[0].image == "nginx:1"
    apps.delete_namespaced_deployment("snake", NAMESPACE, propagation_policy="Background")
    refused(404, lambda: apps.read_namespaced_deployment("snake", NAMESPACE))


def paging():
    core = client.CoreV1Api()
    for index in range(5):
        core.create_namespaced_config_map(NAMESPACE, config_map(f"page-{index}", labels={"paged": "yes"}))
    names, token = [], None
    while True:
        page = core.list_namespaced_config_map(NAMESPACE, label_selector="paged", limit=2, _continue=token)
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == [f"page-{index}" for index in range(5)], names
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="paged")
    assert core.list_namespaced_config_map(NAMESPACE, label_selector="paged").items == []


def watching():
    core = client.CoreV1Api()
    version = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    core.create_namespaced_config_map(NAMESPACE, config_map("watched", {"a": "1"}))
    changed = core.replace_namespaced_config_map("watched", NAMESPACE, config_map("watched", {"a": "2"}))

    def events(resource_version, count):
        watcher = watch.Watch()
        seen = []
        for event in watcher.stream(
            core.list_namespaced_config_map,
            NAMESPACE,
            field_selector="metadata.name=watched",
            resource_version=resource_version,
            timeout_seconds=10,
        ):
            seen.append((event["type"], event["object"].data))
            if len(seen) == count:
                watcher.stop()
        return seen, watcher.resource_version

    seen, reached = events(version, 2)
    assert seen == [("ADDED", {"a": "1"}), ("MODIFIED", {"a": "2"})], seen
    assert reached == changed.metadata.resource_version
    core.delete_namespaced_config_map("watched", NAMESPACE)
    seen, _ = events(reached, 1)
    assert seen == [("DELETED", {"a": "2"})], seen


def dynamic_client():
    resources = dynamic.DynamicClient(client.ApiClient()).resources
    config_maps = resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dynamic"}, "data": {"a": "1"}}
    assert config_maps.create(body=body, namespace=NAMESPACE).data.a == "1"
    merged = config_maps.patch(
        name="dynamic", namespace=NAMESPACE, body={"data": {"b": "2"}}, content_type="application/merge-patch+json"
    )
    assert merged.to_dict()["data"] == {"a": "1", "b": "2"}
    found = config_maps.get(namespace=NAMESPACE, field_selector="metadata.name=dynamic")
    assert [item.metadata.name for item in found.items] == ["dynamic"]
    body["metadata"]["resourceVersion"] = merged.metadata.resourceVersion
    assert config_maps.replace(body=body, namespace=NAMESPACE).to_dict()["data"] == {"a": "1"}
    config_maps.delete(name="dynamic", namespace=NAMESPACE)
    refused(404, lambda: config_maps.get(name="dynamic", namespace=NAMESPACE))
    leases = resources.get(api_version="coordination.k8s.io/v1", kind="Lease")
    assert leases.namespaced and "watch" in leases.verbs


config.load_kube_config(sys.argv[1])
for step in (typed, deployments, paging, watching, dynamic_client):
    step()
    print(step.__name__)
