"""Many clients at once: one write wins, none is lost, and all watches hear the same."""

from concurrent.futures import ThreadPoolExecutor

from contractclient import STRATEGIC, Json, Server, config_maps, widget, widgets

_CLIENTS = 20


def leases(namespace: str, name: str = "") -> str:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    return f"{path}/{name}" if name else path


def test_one_of_many_takes_a_lease(server: Server, namespace: str):
    spec = {"holderIdentity": "nobody", "leaseDurationSeconds": 15}
    body: Json = {"metadata": {"name": "leader"}, "spec": spec}
    read = server.post(leases(namespace), body).expect(201).json

    def take(number: int) -> int:
        mine = {**read, "spec": {**spec, "holderIdentity": f"client-{number}"}}
        return server.put(leases(namespace, "leader"), mine).status

    with ThreadPoolExecutor(_CLIENTS) as pool:
        answers = sorted(pool.map(take, range(_CLIENTS)))
    assert answers == [200] + [409] * (_CLIENTS - 1)


def test_one_of_many_creates(server: Server, namespace: str):
    def create(_: int) -> int:
        return server.post(widgets(namespace), widget("same")).status

    with ThreadPoolExecutor(_CLIENTS) as pool:
        answers = sorted(pool.map(create, range(_CLIENTS)))
    assert answers == [201] + [409] * (_CLIENTS - 1)


def test_patches_without_a_version_are_all_kept(server: Server, namespace: str):
    server.post(config_maps(namespace), {"metadata": {"name": "c"}}).expect(201)

    def patch(number: int) -> int:
        change = {"data": {f"key-{number}": str(number)}}
        return server.patch(config_maps(namespace, "c"), change, STRATEGIC).status

    with ThreadPoolExecutor(_CLIENTS) as pool:
        assert set(pool.map(patch, range(_CLIENTS))) == {200}
    data = server.get(config_maps(namespace, "c")).expect(200).json["data"]
    assert data == {f"key-{number}": str(number) for number in range(_CLIENTS)}


def test_all_watches_hear_the_same_in_the_same_order(server: Server, namespace: str):
    at = server.get(widgets(namespace)).rv

    def listen(_: int) -> list[str]:
        heard = []
        with server.watch(widgets(namespace), resourceVersion=at) as events:
            for event in events:
                heard.append(event["object"]["metadata"]["resourceVersion"])
                if event["object"]["metadata"]["name"] == "end":
                    break
        return heard

    def write(number: int) -> None:
        server.post(widgets(namespace), widget(f"w{number}")).expect(201)
        change = {"spec": {"size": number}}
        server.patch(widgets(namespace, f"w{number}"), change).expect(200)

    with ThreadPoolExecutor(4) as listeners, ThreadPoolExecutor(4) as writers:
        heard = [listeners.submit(listen, number) for number in range(4)]
        list(writers.map(write, range(2, 12)))
        server.post(widgets(namespace), widget("end")).expect(201)
        first, *others = [one.result() for one in heard]
    assert len(first) == 21
    assert first == sorted(first, key=int)
    assert others == [first] * 3
