// The simulator's carriage: net/transport.hpp over link models, in virtual time.
//
// Every third message is encoded and decoded on its way and must come out equal, so that wire and
// machines cannot drift apart. Tensors are copied when their last byte has left and put into the
// receiver's room when it has arrived.
//
// Guarantees  callbacks come from `handle` only, never from within a call of a transport; but for
//             on_transmitted of what a broken link leaves unsent, which comes at once.
// Threads     none; one owner drives the queue and hands the network's events to `handle`.
#pragma once

#include "net/sim/event_queue.hpp"
#include "net/sim/link_model.hpp"
#include "net/transport.hpp"

#include <map>
#include <memory>
#include <vector>

namespace perigee::net {

class sim_network;

class sim_transport final : public transport {
public:
  sim_transport(sim_network& network, std::uint32_t self) : network_(network), self_(self) {}

  result<void> send(peer_id to, const message& what) override;
  result<void> transmit(peer_id to, const tensor_label& label,
                        std::span<const std::byte> data) override;
  void close(peer_id who) override;
  [[nodiscard]] link_figures figures(peer_id who) const override;
  [[nodiscard]] std::uint64_t dropped() const override;

private:
  sim_network& network_;
  std::uint32_t self_;  // position in the network
};

class sim_network {
public:
  /// Kinds of timed events below this are the network's.
  static constexpr std::uint32_t kinds = 16;

  /// `queue` outlives this.
  explicit sim_network(event_queue& queue) : queue_(queue) {}

  /// Adds a peer; `owner` outlives this. Returns its position.
  std::uint32_t add(peer_id who, owner& serves);
  [[nodiscard]] transport& transport_of(std::uint32_t position) {
    return *places_[position].carrier;
  }

  /// Both are told at `at` that they are linked.
  void connect(std::uint32_t a, std::uint32_t b, link_character character, instant at);
  /// The link is broken now; both are told, each after the link's latency.
  void cut(std::uint32_t a, std::uint32_t b, const error& why);
  /// The peer is dead now: it hears nothing more, the others lose their links to it.
  void remove(std::uint32_t position, const error& why);

  /// Takes an event of the queue whose kind is the network's.
  void handle(const timed& what);

  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t tensors() const noexcept { return tensors_; }

private:
  friend class sim_transport;
  enum kind : std::uint32_t { delivered, left, landed, heard_of, up, down };

  /// One direction of a link.
  struct wire {
    bool known = false;  // there is, or was, such a link
    link_model model;
    bool linked = false;  // as its sender knows
    std::uint32_t generation = 0;
    bytes sent;
    bytes received;  // at the far end
    bytes queued;
  };
  struct place {
    peer_id who;
    owner* serves = nullptr;
    std::unique_ptr<sim_transport> carrier;
    bool alive = true;
    std::uint64_t dropped = 0;
    std::vector<wire> wires;  // by the position of the far end
  };
  struct letter {
    std::uint32_t from = 0;
    std::uint32_t generation = 0;
    message what;
  };
  struct parcel {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t generation = 0;
    bool gone = false;  // its last byte has left, or its link has broken
    bool used = false;
    tensor_label label;
    std::span<const std::byte> data;
    std::vector<std::byte> copy;
  };
  struct notice {
    std::uint32_t about = 0;
    error why;
  };

  [[nodiscard]] wire* wire_of(std::uint32_t from, std::uint32_t to);
  [[nodiscard]] const wire* wire_of(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] std::uint32_t position_of(peer_id who) const;
  void break_wire(std::uint32_t from, std::uint32_t to, const error& why, duration after);
  void deliver(const timed& what);
  void leave(const timed& what);
  void land(const timed& what);
  void return_parcel(std::uint64_t index);

  event_queue& queue_;
  std::vector<place> places_;
  std::map<peer_id, std::uint32_t> positions_;
  std::vector<letter> letters_;
  std::vector<std::uint64_t> free_letters_;
  std::vector<parcel> parcels_;
  std::vector<std::uint64_t> free_parcels_;
  std::vector<notice> notices_;
  std::uint64_t messages_ = 0;
  std::uint64_t tensors_ = 0;
};

}  // namespace perigee::net
