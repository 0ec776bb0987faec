// Peers on the wire: proto/swarm.capnp.

#include "proto/codec_pieces.hpp"

namespace perigee::wire {

namespace limits = codec_limits;

void write(PeerRecord::Builder to, const peer_record& from) {
  const auto& [peer, incarnation, version, name, address, workers, memory_offer, rate,
               fingerprint] = from;
  const auto& [matrix, convolution, depthwise, memory] = rate;
  to.setPeer(peer.value);
  to.setIncarnation(incarnation);
  to.setVersion(version);
  to.setName(in_capnp(name));
  to.setAddress(in_capnp(address));
  to.setWorkers(workers);
  to.setMemoryOffer(memory_offer.count);
  to.setRateMatrix(matrix);
  to.setRateConvolution(convolution);
  to.setRateDepthwise(depthwise);
  to.setRateMemory(memory);
  to.setFingerprint(fingerprint);
}

peer_record read(PeerRecord::Reader from) {
  return {peer_id{from.getPeer()},
          from.getIncarnation(),
          from.getVersion(),
          read_text(from.getName(), limits::name_max, "name of a peer"),
          read_text(from.getAddress(), limits::name_max, "address of a peer"),
          from.getWorkers(),
          {from.getMemoryOffer()},
          {from.getRateMatrix(), from.getRateConvolution(), from.getRateDepthwise(),
           from.getRateMemory()},
          from.getFingerprint()};
}

void write(Ping::Builder to, const ping& from) {
  const auto& [count] = from;
  to.setCount(count);
}

ping read(Ping::Reader from) { return {from.getCount()}; }

void write(Pong::Builder to, const pong& from) {
  const auto& [count] = from;
  to.setCount(count);
}

pong read(Pong::Reader from) { return {from.getCount()}; }

void write(StatusRequest::Builder, const status_request&) {}

status_request read(StatusRequest::Reader) { return {}; }

void write(Neighbour::Builder to, const neighbour& from) {
  const auto& [record, linked, round_trip, sent, received] = from;
  write(to.initRecord(), record);
  to.setLinked(linked);
  to.setRoundTripNs(round_trip.count());
  to.setSent(sent.count);
  to.setReceived(received.count);
}

neighbour read(Neighbour::Reader from) {
  return {read(from.getRecord()),
          from.getLinked(),
          duration{from.getRoundTripNs()},
          {from.getSent()},
          {from.getReceived()}};
}

void write(StatusReport::Builder to, const status_report& from) {
  const auto& [self, neighbours, jobs, dropped_frames] = from;
  write(to.initSelf(), self);
  write_all(to.initNeighbours(count_of(neighbours)), neighbours);
  write_all(to.initJobs(count_of(jobs)), jobs);
  to.setDroppedFrames(dropped_frames);
}

status_report read(StatusReport::Reader from) {
  return {read(from.getSelf()),
          read_all<neighbour>(from.getNeighbours(), limits::peers_max, "neighbours"),
          read_all<progress>(from.getJobs(), limits::jobs_max, "jobs"), from.getDroppedFrames()};
}

void write(Farewell::Builder, const farewell&) {}

farewell read(Farewell::Reader) { return {}; }

}  // namespace perigee::wire
