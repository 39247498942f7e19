"""A client that knows nothing but the .proto: its stubs were generated beside it. It tells what it sees, in JSON."""

import json
import sys
import threading

import grpc
import lock_pb2 as pb
import lock_pb2_grpc as rpc
from google.protobuf.duration_pb2 import Duration

FIRST, SECOND, NAME = sys.argv[1:]
LOCK = pb.Lock(name=NAME)
BEATING = threading.Event()
BEATING.set()
PAUSE = threading.Event()


def tell(**fields):
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def beats(first):
    yield first
    number = 0
    while True:
        PAUSE.wait(0.3)
        if BEATING.is_set():
            number += 1
            yield pb.CampaignRequest(keep_alive=pb.KeepAlive(sequence=number))


def observe():
    with grpc.insecure_channel(SECOND) as channel:
        for seen in rpc.LockServiceStub(channel).Observe(pb.ObserveRequest(lock=LOCK)):
            tell(observed=seen.holder_identity, token=seen.fencing_token)


def follow(target, first):
    """Tell what a stream brings; its Leading, and the status that it ended with."""
    leading, kept = None, False
    with grpc.insecure_channel(target) as channel:
        try:
            for answer in rpc.LockServiceStub(channel).Campaign(beats(first)):
                kind = answer.WhichOneof("kind")
                if kind == "leading":
                    leading = answer.leading
                    tell(leading=leading.fencing_token, on=target)
                elif kind == "kept_alive" and not kept:
                    kept = True
                    tell(kept_alive=answer.kept_alive.sequence)
        except grpc.RpcError as error:
            return leading, error.code().name
    return leading, "OK"


threading.Thread(target=observe, daemon=True).start()
seconds = Duration(seconds=9)
mine, code = follow(FIRST, pb.CampaignRequest(enter=pb.Enter(lock=LOCK, identity="fresh", lease_duration=seconds)))
tell(broken=code)
again = pb.Resume(lock=LOCK, fencing_token=mine.fencing_token, acquisition=mine.acquisition)
threading.Thread(target=lambda: sys.stdin.readline() and BEATING.clear(), daemon=True).start()
_, code = follow(SECOND, pb.CampaignRequest(resume=again))
tell(ended=code)
with grpc.insecure_channel(SECOND) as channel:
    stub = rpc.LockServiceStub(channel)
    while True:
        answer = stub.Check(pb.CheckRequest(lock=LOCK, fencing_token=mine.fencing_token), timeout=5)
        if not answer.newest:
            break
        PAUSE.wait(0.1)
tell(fenced=mine.fencing_token, by=answer.current_token)
