"""Parts of what kubectl prints of a pod: its specification, and who manages which field."""

from __future__ import annotations

from typing import Any

AT = "2026-01-31T12:00:00Z"
ZONE = "topology.kubernetes.io/zone"
ENV = ("LOG_LEVEL", "HTTP_TIMEOUT", "DB_HOST", "DB_POOL", "CACHE_URL", "QUEUE_URL", "FEATURES", "REGION")


def pod_spec(app: str, suffix: str) -> dict[str, Any]:
    token = f"kube-api-access-{suffix}"
    return {
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "preference": {
                            "matchExpressions": [
                                {
                                    "key": "topology.kubernetes.io/zone",
                                    "operator": "In",
                                    "values": ["north-a", "north-b"],
                                }
                            ]
                        },
                        "weight": 50,
                    }
                ]
            }
        },
        "containers": [
            _container(app, f"registry.example.net/{app}:1.27.3", "500m", "768Mi", token, ports=(8080, 9102)),
            _container("envoy", "registry.example.net/envoy:v1.34.1", "100m", "128Mi", token, ports=(15001, 15021)),
        ],
        "dnsConfig": {"options": [{"name": "ndots", "value": "2"}]},
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": False,
        "imagePullSecrets": [{"name": "registry"}],
        "initContainers": [
            {
                "command": ["/bin/sh", "-c", "until nc -z db 5432; do sleep 1; done\nexec /migrate --up\n"],
                "image": f"registry.example.net/{app}-migrate:1.27.3",
                "imagePullPolicy": "IfNotPresent",
                "name": "migrate",
                "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "50m", "memory": "64Mi"}},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "volumeMounts": [_mount("config", "/etc/app"), _mount(token, _SERVICE_ACCOUNT)],
            }
        ],
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {"fsGroup": 10001, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "serviceAccount": app,
        "serviceAccountName": app,
        "terminationGracePeriodSeconds": 45,
        "tolerations": [
            {"effect": "NoExecute", "key": f"node.kubernetes.io/{what}", "operator": "Exists", "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ],
        "topologySpreadConstraints": [
            {
                "labelSelector": {"matchLabels": {"app.kubernetes.io/name": app}},
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "ScheduleAnyway",
            }
        ],
        "volumes": [
            {"configMap": {"defaultMode": 420, "name": f"{app}-config", "optional": True}, "name": "config"},
            {"name": "credentials", "secret": {"defaultMode": 288, "secretName": f"{app}-credentials"}},
            {"emptyDir": {"medium": "Memory", "sizeLimit": "256Mi"}, "name": "scratch"},
            {"emptyDir": {}, "name": "cache"},
            {"hostPath": {"path": "/etc/localtime", "type": "File"}, "name": "localtime"},
            {
                "downwardAPI": {
                    "defaultMode": 420,
                    "items": [
                        {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}, "path": "labels"},
                        {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations"}, "path": "annotations"},
                    ],
                },
                "name": "podinfo",
            },
            {
                "name": token,
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
                        {
                            "downwardAPI": {
                                "items": [
                                    {
                                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                                        "path": "namespace",
                                    }
                                ]
                            }
                        },
                    ],
                },
            },
        ],
    }


_SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def _mount(name: str, path: str) -> dict[str, Any]:
    return {"mountPath": path, "name": name, "readOnly": True}


def _container(name: str, image: str, cpu: str, memory: str, token: str, *, ports: tuple[int, ...]) -> dict[str, Any]:
    def probe(path: str, failures: int) -> dict[str, Any]:
        return {
            "failureThreshold": failures,
            "httpGet": {"path": path, "port": ports[0], "scheme": "HTTP"},
            "initialDelaySeconds": 5,
            "periodSeconds": 10,
            "successThreshold": 1,
            "timeoutSeconds": 3,
        }

    return {
        "args": ["--config=/etc/app/config.yaml", f"--listen=:{ports[0]}", "--shutdown-grace=30s"],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
            {"name": "GOMAXPROCS", "valueFrom": {"resourceFieldRef": {"divisor": "0", "resource": "limits.cpu"}}},
            {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"key": "password", "name": "db", "optional": True}}},
            *({"name": each, "value": f"{name}-{each.lower()}.example.net:443"} for each in ENV),
        ],
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "lifecycle": {"preStop": {"exec": {"command": ["/bin/sleep", "10"]}}},
        "livenessProbe": probe("/healthz", 3),
        "name": name,
        "ports": [{"containerPort": port, "name": f"p{port}", "protocol": "TCP"} for port in ports],
        "readinessProbe": probe("/readyz", 2),
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": cpu, "memory": memory}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsUser": 10001,
        },
        "startupProbe": probe("/startedz", 60),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            _mount("config", "/etc/app"),
            _mount("credentials", "/etc/credentials"),
            {"mountPath": "/tmp", "name": "scratch"},  # noqa: S108 - a path in a container
            _mount("podinfo", "/etc/podinfo"),
            _mount(token, _SERVICE_ACCOUNT),
        ],
    }


def fields(*names: str) -> dict[str, Any]:
    return {".": {}, **{f"f:{name}": {} for name in names}}


def managed(manager: str, fields: dict[str, Any], *, subresource: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "manager": manager,
        "operation": "Update",
        **({"subresource": subresource} if subresource else {}),
        "time": AT,
    }


def managed_metadata(owner: str) -> dict[str, Any]:
    return {
        "f:annotations": fields("checksum/config", "kubectl.kubernetes.io/restartedAt", "prometheus.io/scrape"),
        "f:generateName": {},
        "f:labels": fields("app.kubernetes.io/instance", "app.kubernetes.io/name", "pod-template-hash"),
        "f:ownerReferences": {".": {}, f'k:{{"uid":"{owner}"}}': {}},
    }


def managed_spec() -> dict[str, Any]:
    probe = fields("failureThreshold", "httpGet", "periodSeconds", "successThreshold", "timeoutSeconds")
    container = {
        **fields("args", "image", "imagePullPolicy", "name", "terminationMessagePath", "terminationMessagePolicy"),
        "f:env": {".": {}, **{f'k:{{"name":"{each}"}}': fields("name", "value") for each in ENV}},
        "f:livenessProbe": probe,
        "f:readinessProbe": probe,
        "f:resources": {**fields(), "f:limits": fields("cpu", "memory"), "f:requests": fields("cpu", "memory")},
    }
    return {
        "f:affinity": {},
        "f:containers": {'k:{"name":"app"}': container, 'k:{"name":"envoy"}': container},
        **{f"f:{each}": {} for each in ("dnsPolicy", "restartPolicy", "schedulerName", "serviceAccountName")},
        "f:volumes": {".": {}, 'k:{"name":"config"}': fields("configMap", "name")},
    }


def managed_status() -> dict[str, Any]:
    condition = fields("lastProbeTime", "lastTransitionTime", "status", "type")
    return {
        "f:conditions": {f'k:{{"type":"{each}"}}': condition for each in ("Initialized", "Ready", "ContainersReady")},
        **{f"f:{each}": {} for each in ("containerStatuses", "hostIP", "phase", "podIP", "startTime")},
    }
