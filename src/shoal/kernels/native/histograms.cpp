// Screens of boxes with the sensitive values counted: a row is a class, with the number of records of each value. Where
// there are few values, they lie in an array for every row; of many values, a row lists those that it has.
#include "screen.h"

namespace {

using shoal::Attribute;
using shoal::Class;
using shoal::Far;

constexpr uint32_t NONE = std::numeric_limits<uint32_t>::max();
constexpr size_t LISTED = 0; // in place of a stride: rows list their values

// A sensitive value of a row, and its records.
struct Held {
    int32_t value, records;
};

// The classes of a node, ascending by key. The records of each sensitive value are counted when they are asked for.
struct Table {
    std::vector<uint64_t> keys;
    std::vector<int32_t> sizes, values; // there are STRIDE places for values, a power of two
    std::vector<Held> held;             // in place of `values`: row i has those from firsts[i] up to firsts[i + 1]
    std::vector<uint32_t> firsts;
    std::vector<double> costs;
    size_t rows = 0;
    bool counted = false;
    Table *source = nullptr;
    std::vector<uint32_t> into; // for each row of the source, which row it becomes part of

    void made_from(Table &table) {
        source = &table, counted = false, rows = 0;
        if (keys.size() < table.rows) keys.resize(table.rows), sizes.resize(table.rows), costs.resize(table.rows);
        if (into.size() < table.rows) into.resize(table.rows);
    }
};

// Rows of a table that become one, or that are too few together.
struct Run {
    uint32_t start, end;
    int32_t size;
};

template <size_t STRIDE>
SHOAL_CLONES void add_rows(const int32_t *SHOAL_RESTRICT from, const uint32_t *into, size_t rows, int32_t *SHOAL_RESTRICT to) {
    for (size_t i = 0; i < rows; ++i)
        if (into[i] != NONE)
            for (size_t v = 0; v < STRIDE; ++v) to[into[i] * STRIDE + v] += from[i * STRIDE + v];
}

template <size_t STRIDE>
SHOAL_CLONES void add_runs(const int32_t *SHOAL_RESTRICT from, const Run *runs, size_t number, int32_t *SHOAL_RESTRICT to) {
    for (size_t i = 0; i < number; ++i, to += STRIDE) {
        int32_t sums[STRIDE] = {0};
        for (size_t row = runs[i].start; row < runs[i].end; ++row)
            for (size_t v = 0; v < STRIDE; ++v) sums[v] += from[row * STRIDE + v];
        for (size_t v = 0; v < STRIDE; ++v) to[v] = sums[v];
    }
}

// Adds up lists of values, one row after the other.
class Adder {
  public:
    explicit Adder(size_t values) : records_(values, 0) {}

    void add(const Held *held, size_t number) {
        for (size_t i = 0; i < number; ++i) {
            int32_t &sum = records_[static_cast<size_t>(held[i].value)];
            if (!sum) present_.push_back(held[i].value);
            sum += held[i].records;
        }
    }

    // Write the sum behind a list, and begin with nothing again.
    void finish(std::vector<Held> &to) {
        for (const int32_t value : present_) {
            int32_t &sum = records_[static_cast<size_t>(value)];
            to.push_back({value, sum});
            sum = 0;
        }
        present_.clear();
    }

  private:
    std::vector<int32_t> records_, present_;
};

void list_values(Table &table, Adder &adder) {
    if (table.counted) return;
    Table &source = *table.source;
    list_values(source, adder);
    // the rows of the source by the row that they become part of
    std::vector<uint32_t> ends(table.rows + 1, 0), order;
    for (size_t i = 0; i < source.rows; ++i)
        if (table.into[i] != NONE) ++ends[table.into[i] + 1];
    for (size_t i = 0; i < table.rows; ++i) ends[i + 1] += ends[i];
    order.resize(ends[table.rows]);
    std::vector<uint32_t> places(ends.begin(), ends.end() - 1);
    for (size_t i = 0; i < source.rows; ++i)
        if (table.into[i] != NONE) order[places[table.into[i]]++] = static_cast<uint32_t>(i);
    table.held.clear(), table.firsts.assign(1, 0);
    for (size_t i = 0; i < table.rows; ++i) {
        for (uint32_t place = ends[i]; place < ends[i + 1]; ++place) {
            const uint32_t row = order[place];
            const Held *held = source.held.data() + source.firsts[row];
            const size_t number = source.firsts[row + 1] - source.firsts[row];
            if (ends[i + 1] - ends[i] > 1)
                adder.add(held, number);
            else
                table.held.insert(table.held.end(), held, held + number);
        }
        adder.finish(table.held);
        table.firsts.push_back(static_cast<uint32_t>(table.held.size()));
    }
    table.counted = true;
}

template <size_t STRIDE> void count_values(Table &table) {
    if (table.counted) return;
    count_values<STRIDE>(*table.source);
    table.values.assign(table.rows * STRIDE, 0);
    add_rows<STRIDE>(table.source->values.data(), table.into.data(), table.source->rows, table.values.data());
    table.counted = true;
}

// Distances between distributions: sums over ranges of values of differences between their proportions.
struct Ground {
    std::vector<std::pair<int32_t, int32_t>> ranges;
    double unit;
    bool ordered; // ranges end with each of the values; those that the release does not have are left out

    // Whether the ranges are the single values.
    bool equal() const { return divides() && unit == 1.0 && ranges.back().second == static_cast<int32_t>(ranges.size()); }

    // Whether the ranges divide all values, as often as the unit says.
    bool divides() const {
        int32_t last = 0, at = 0;
        double times = 0.0;
        for (const auto &range : ranges) last = std::max(last, range.second);
        for (const auto &[start, end] : ranges) {
            if (ordered || start != at) return false;
            at = end == last ? 0 : end, times += end == last;
        }
        return at == 0 && times == unit;
    }
};

template <size_t STRIDE>
SHOAL_CLONES void equal_distances(const int32_t *values, const double *quotas, Class *classes, size_t number) {
    for (size_t i = 0; i < number; ++i) {
        const int32_t *counts = values + classes[i].start * STRIDE;
        const double size = static_cast<double>(classes[i].size);
        double sums[4] = {0.0, 0.0, 0.0, 0.0};
        for (size_t v = 0; v < STRIDE; v += 4)
            for (size_t lane = 0; lane < 4; ++lane)
                sums[lane] += std::abs(static_cast<double>(counts[v + lane]) - quotas[v + lane] * size);
        classes[i].distance = (sums[0] + sums[1] + (sums[2] + sums[3])) / (2 * size);
        classes[i].drift = 0.0;
    }
}

template <size_t STRIDE>
SHOAL_CLONES void equal_weights(const int32_t *values, const double *quotas, Far *classes, size_t number) {
    for (size_t i = 0; i < number; ++i) {
        const int32_t *counts = values + classes[i].start * STRIDE;
        double sums[4] = {0.0, 0.0, 0.0, 0.0};
        for (size_t v = 0; v < STRIDE; v += 4)
            for (size_t lane = 0; lane < 4; ++lane)
                sums[lane] += static_cast<double>(counts[v + lane]) < quotas[v + lane] * classes[i].size ? quotas[v + lane] : 0.0;
        classes[i].weight = sums[0] + sums[1] + (sums[2] + sums[3]);
    }
}

template <size_t STRIDE> class Histograms {
  public:
    Histograms(size_t values, Ground ground)
        : values_(values), ground_(std::move(ground)), equal_(ground_.equal()), divides_(ground_.divides()), quotas_(STRIDE, 0.0),
          weights_(ground_.ranges.size(), 1.0), unit_(2 * ground_.unit), sums_(values + 1) {}

    void at(const Table &table) { table_ = &table; }
    int64_t records() const { return records_; }
    size_t values() const { return STRIDE; }
    const std::vector<double> &quotas() const { return quotas_; }

    template <class Use> void each(const Class &each, Use use) const {
        const int32_t *counts = of(each);
        for (size_t v = 0; v < values_; ++v) use(v, counts[v]);
    }

    void count(const Class &each, std::vector<int64_t> &totals, int64_t sign) const {
        const int32_t *SHOAL_RESTRICT counts = of(each);
        int64_t *SHOAL_RESTRICT sums = totals.data();
        if (sign > 0)
            for (size_t v = 0; v < STRIDE; ++v) sums[v] += counts[v];
        else
            for (size_t v = 0; v < STRIDE; ++v) sums[v] -= counts[v];
    }

    // Count the records of each value in all classes.
    void count(const std::vector<Class> &classes, std::vector<int64_t> &totals) const {
        int32_t sums[STRIDE] = {0};
        for (const Class &each : classes)
            for (size_t v = 0; v < STRIDE; ++v) sums[v] += of(each)[v];
        totals.assign(sums, sums + STRIDE);
    }

    // Compare with a release from now on; return how far it is from the one before, by the distance that both have.
    double compare(const std::vector<int64_t> &totals) {
        totals_ = totals;
        records_ = std::max<int64_t>(std::accumulate(totals.begin(), totals.end(), int64_t(0)), 1);
        const double records = static_cast<double>(records_), moved = between(totals.data(), records);
        for (size_t v = 0; v < values_; ++v) quotas_[v] = static_cast<double>(totals[v]) / records;
        return weighed(totals) ? std::numeric_limits<double>::infinity() : moved;
    }

    void measure(std::vector<Class> &classes) {
        if (equal_) return equal_distances<STRIDE>(table_->values.data(), quotas_.data(), classes.data(), classes.size());
        for (Class &each : classes) each.distance = distance(each), each.drift = 0.0;
    }

    double distance(const Class &each) { return between(of(each), static_cast<double>(each.size)); }

    // Whether a distance is the greatest difference between two means of weights from 0 to 1, whatever is suppressed.
    bool has_weights() const { return divides_; }

    // Note the mean, in the release, of the weights that tell classes from it: a value counts once for each range of which
    // the class has too few, divided by the unit.
    void weigh(std::vector<Far> &classes) const {
        if (equal_) return equal_weights<STRIDE>(table_->values.data(), quotas_.data(), classes.data(), classes.size());
        for (Far &each : classes) {
            const int32_t *counts = table_->values.data() + each.start * STRIDE;
            double found = 0.0;
            for (const auto &[start, end] : ground_.ranges) {
                double quota = 0.0, count = 0.0;
                for (int32_t v = start; v < end; ++v) quota += quotas_[v], count += counts[v];
                if (count < quota * each.size) found += quota;
            }
            each.weight = found / ground_.unit;
        }
    }

#if defined(__SIZEOF_INT128__)
    // The distance as an integer, of at most unit times the size of the class times the records of the release.
    shoal::Integer work(const Class &each) const {
        shoal::Integer found = 0, sums[STRIDE + 1] = {0};
        for (size_t v = 0; v < values_; ++v)
            sums[v + 1] = sums[v] + shoal::Integer(of(each)[v]) * records_ - shoal::Integer(totals_[v]) * each.size;
        for (size_t i = 0; i < weights_.size(); ++i) {
            const shoal::Integer difference = sums[ground_.ranges[i].second] - sums[ground_.ranges[i].first];
            if (weights_[i] > 0.0) found += difference < 0 ? -difference : difference;
        }
        return found;
    }
    int64_t unit() const { return static_cast<int64_t>(unit_); }
#endif

  private:
    const int32_t *of(const Class &each) const { return table_->values.data() + each.start * STRIDE; }

    // Leave out the ranges that end with a value that the release does not have; return whether that makes a difference.
    bool weighed(const std::vector<int64_t> &totals) {
        if (!ground_.ordered) return false;
        bool changed = false;
        double present = 0.0;
        for (size_t i = 0; i < weights_.size(); ++i) {
            const double weight = totals[ground_.ranges[i].second - 1] > 0;
            changed = changed || weight != weights_[i];
            weights_[i] = weight;
            present += weight;
        }
        unit_ = std::max(present - 1, 1.0);
        return changed;
    }

    // The distance between the proportions of `counts` and those of the release.
    template <class Count> double between(const Count *counts, double size) {
        double running = 0.0, found = 0.0;
        if (equal_) {
            for (size_t v = 0; v < values_; ++v) found += std::abs(static_cast<double>(counts[v]) - quotas_[v] * size);
            return found / (2 * size);
        }
        for (size_t v = 0; v < values_; ++v) {
            running += static_cast<double>(counts[v]) - quotas_[v] * size;
            sums_[v + 1] = running;
        }
        for (size_t i = 0; i < weights_.size(); ++i)
            found += weights_[i] * std::abs(sums_[ground_.ranges[i].second] - sums_[ground_.ranges[i].first]);
        return found / (unit_ * size);
    }

    const size_t values_;
    const Ground ground_;
    const bool equal_, divides_;
    std::vector<int64_t> totals_; // what classes are compared with
    int64_t records_ = 1;
    std::vector<double> quotas_, weights_;
    double unit_;
    std::vector<double> sums_;
    const Table *table_ = nullptr;
};

// Likewise where rows list their values, and distances are the equal one.
template <> class Histograms<LISTED> {
  public:
    Histograms(size_t values, const Ground &) : quotas_(values, 0.0) {}

    void at(const Table &table) { table_ = &table; }
    int64_t records() const { return records_; }
    const std::vector<double> &quotas() const { return quotas_; }

    template <class Use> void each(const Class &each, Use use) const {
        for (const Held *held = first(each); held != last(each); ++held) use(static_cast<uint64_t>(held->value), held->records);
    }

    void count(const Class &each, std::vector<int64_t> &totals, int64_t sign) const {
        for (const Held *held = first(each); held != last(each); ++held)
            totals[static_cast<size_t>(held->value)] += sign * held->records;
    }

    void count(const std::vector<Class> &classes, std::vector<int64_t> &totals) const {
        totals.assign(quotas_.size(), 0);
        for (const Class &each : classes) count(each, totals, 1);
    }

    double compare(const std::vector<int64_t> &totals) {
        totals_ = totals;
        records_ = std::max<int64_t>(std::accumulate(totals.begin(), totals.end(), int64_t(0)), 1);
        double moved = 0.0;
        for (size_t v = 0; v < quotas_.size(); ++v) {
            const double quota = static_cast<double>(totals[v]) / static_cast<double>(records_);
            moved += std::abs(quota - quotas_[v]);
            quotas_[v] = quota;
        }
        return moved / 2;
    }

    void measure(std::vector<Class> &classes) const {
        for (Class &each : classes) each.distance = distance(each), each.drift = 0.0;
    }

    // The sum of max(0, p - q), of values that the class has.
    double distance(const Class &each) const {
        const double size = static_cast<double>(each.size);
        double found = 0.0;
        for (const Held *held = first(each); held != last(each); ++held)
            found += std::max(held->records - quotas_[static_cast<size_t>(held->value)] * size, 0.0);
        return found / size;
    }

    bool has_weights() const { return true; }

    void weigh(std::vector<Far> &classes) const {
        for (Far &each : classes) {
            double enough = 0.0;
            for (uint32_t i = table_->firsts[each.start]; i < table_->firsts[each.start + 1]; ++i) {
                const double quota = quotas_[static_cast<size_t>(table_->held[i].value)];
                if (table_->held[i].records >= quota * each.size) enough += quota;
            }
            each.weight = std::max(1.0 - enough, 0.0);
        }
    }

#if defined(__SIZEOF_INT128__)
    shoal::Integer work(const Class &each) const {
        shoal::Integer found = 0;
        for (const Held *held = first(each); held != last(each); ++held) {
            const shoal::Integer surplus = shoal::Integer(held->records) * records_ -
                                           shoal::Integer(totals_[static_cast<size_t>(held->value)]) * each.size;
            if (surplus > 0) found += surplus;
        }
        return found;
    }
    int64_t unit() const { return 1; }
#endif

  private:
    const Held *first(const Class &each) const { return table_->held.data() + table_->firsts[each.start]; }
    const Held *last(const Class &each) const { return table_->held.data() + table_->firsts[each.start + 1]; }

    std::vector<int64_t> totals_; // what classes are compared with
    int64_t records_ = 1;
    std::vector<double> quotas_;
    const Table *table_ = nullptr;
};

// The classes of the lowest node, each value of the sensitive attribute apart, and what is asked about the box above it.
struct Box {
    int64_t rows;
    int32_t target, values;
    int64_t smallest, budget;
    int64_t *looks;
    double loss;
    const uint64_t *keys;
    const int64_t *counts;
    const double *costs;
    std::vector<Attribute> attributes;
};

// What is known of the nodes of a box from coarser ones: whatever is suppressed there is suppressed in finer ones.
class Frontier : public shoal::Hunt {
  public:
    using Hunt::Hunt;

    // Remember the most that each step of each attribute adds to the cost of a record.
    void prepare(std::vector<std::vector<double>> dearest) {
        dearest_ = std::move(dearest);
        size_t nodes = 1;
        strides_.assign(dearest_.size(), 1);
        for (size_t d = dearest_.size(); d-- > 0;) strides_[d] = nodes, nodes *= dearest_[d].size();
        lost_.assign(nodes, 0), excess_.assign(nodes, 0.0);
    }

    // Whether a node with these steps of the attributes up to one may be good enough, for all that is known.
    bool hopeful(size_t depth) {
        bool found = false;
        const auto look = [&](size_t node) {
            for (size_t d = 0; d < strides_.size(); ++d)
                if (node / strides_[d] % dearest_[d].size() + 1 < dearest_[d].size()) {
                    lost_[node] = std::max(lost_[node], lost_[node + strides_[d]]);
                    excess_[node] = std::max(excess_[node], excess_[node + strides_[d]]);
                }
            found = found || !beaten_at(node, lost_[node], excess_[node]);
        };
        for (size_t end = first(depth) + strides_[depth], node = end; node-- > end - strides_[depth];) look(node);
        return found;
    }

    // These records are suppressed in all nodes with these steps; their excess is that at the lowest of these.
    void learn(size_t depth, int64_t lost, double excess) {
        for (size_t node = first(depth), end = node + strides_[depth]; node < end; ++node) {
            double most = 0.0;
            for (size_t d = depth + 1; d < strides_.size(); ++d)
                most += dearest_[d][node / strides_[d] % dearest_[d].size()];
            lost_[node] = std::max(lost_[node], lost);
            excess_[node] = std::max(excess_[node], excess - most * static_cast<double>(lost));
        }
    }

    // So much is suppressed at this node and at all finer ones.
    void force(int64_t lost, double excess) {
        if (!strides_.empty()) learn(strides_.size() - 1, lost, excess);
    }

    // The node breaks what is asked for. If nothing may be suppressed, all classes are compared with the same release, and
    // a class that mixes others is no farther from it than they are: finer nodes break it, too.
    void failed() {
        if (allowed_ == 0) force(1, 0.0);
    }

  private:
    size_t first(size_t depth) const {
        size_t node = 0;
        for (size_t d = 0; d <= depth; ++d) node += taken_[d] * strides_[d];
        return node;
    }

    bool beaten_at(size_t node, int64_t lost, double excess) const {
        double floor = 0.0;
        for (size_t d = 0; d < strides_.size(); ++d) floor += floors_[d][node / strides_[d] % dearest_[d].size()];
        return lost > allowed_ || (floor + excess) / scale_ > best_;
    }

    std::vector<std::vector<double>> dearest_;
    std::vector<size_t> strides_;
    std::vector<int64_t> lost_;
    std::vector<double> excess_;
};

// Records that are suppressed in all nodes with the levels of some first attributes.
struct Lost {
    int64_t records = 0;
    double cost = 0.0;         // what they cost while they are in the table, with the lowest levels of all other attributes
    std::vector<double> rises; // by attribute and step: what the others add to that
};

// A walk as in walk.h, over classes. A class that is small where all attributes after the first ones are `*` is small in
// all nodes with these levels of the first ones: it is left out, and if there are too many, so are the nodes.
template <size_t STRIDE> class Pruned {
  public:
    Pruned(std::vector<Attribute> attributes, size_t values, int64_t smallest, double loss, int64_t budget)
        : attributes_(std::move(attributes)), smallest_(smallest), loss_(loss), budget_(budget), adder_(values),
          tables_(attributes_.size()), lost_(attributes_.size()) {
        for (const Attribute &each : attributes_) {
            first_.push_back(first_.empty() ? 0 : first_.back() + steps_.back().size());
            steps_.push_back(steps_of(each));
        }
    }

    // Call visit(large classes, records lost, excess) at every node that may be good enough; return whether the budget
    // was enough for it.
    template <class Visit> bool run(Table &table, Frontier &hunt, Visit visit) {
        std::vector<std::vector<double>> dearest;
        for (const std::vector<Step> &steps : steps_) {
            dearest.emplace_back();
            for (const Step &step : steps)
                dearest.back().push_back(std::accumulate(step.added.begin(), step.added.end(), 0.0, [](double a, double b) { return std::max(a, b); }));
        }
        hunt.prepare(std::move(dearest));
        Lost none;
        none.rises.assign(attributes_.empty() ? 0 : first_.back() + steps_.back().size(), 0.0);
        descend(0, table, none, hunt, visit);
        return budget_ >= 0;
    }

    int64_t left() const { return budget_; }

  private:
    struct Entry {
        uint64_t key;
        uint32_t row;
        bool operator<(const Entry &other) const { return key < other.key; }
    };
    // What a code becomes, and what that adds to its cost.
    struct Step {
        std::vector<uint64_t> codes;
        std::vector<double> added;
    };

    static std::vector<Step> steps_of(const Attribute &attribute) {
        const size_t codes = attribute.maps.empty() ? attribute.mask + 1 : attribute.sizes[0];
        std::vector<Step> steps(1, {std::vector<uint64_t>(codes), std::vector<double>(codes, 0.0)});
        std::iota(steps[0].codes.begin(), steps[0].codes.end(), uint64_t(0));
        for (size_t step = 0; step < attribute.maps.size(); ++step) {
            steps.push_back(steps.back());
            for (size_t code = 0; code < codes; ++code) {
                uint64_t &now = steps.back().codes[code];
                steps.back().added[code] += attribute.changes[step][now];
                now = static_cast<uint64_t>(attribute.maps[step][now]);
            }
        }
        return steps;
    }

    template <class Visit>
    void descend(size_t depth, Table &table, const Lost &lost, Frontier &hunt, Visit &visit) {
        if (depth == attributes_.size()) return visit(table, lost.records, excess(lost));
        // Coarser nodes come first: what they suppress, finer ones suppress as well.
        for (size_t step = steps_[depth].size(); step-- > 0 && budget_ >= 0;) {
            if (!hunt.enter(depth, step) || !hunt.hopeful(depth)) continue;
            Lost &here = lost_[depth];
            here = lost;
            here.cost += lost.rises[first_[depth] + step];
            find_runs(table, depth, steps_[depth][step], here);
            hunt.learn(depth, here.records, excess(here));
            if (hunt.beaten(here.records, excess(here))) continue;
            for (size_t j = depth + 1; j < attributes_.size(); ++j) note(table, j, here.rises.data() + first_[j]);
            raise(table, depth, step);
            descend(depth + 1, tables_[depth], here, hunt, visit);
        }
    }

    double excess(const Lost &lost) const { return loss_ * static_cast<double>(lost.records) - lost.cost; }

    // Find the rows that agree up to and including an attribute; those that are few are lost.
    void find_runs(const Table &table, size_t depth, const Step &step, Lost &lost) {
        const int shift = attributes_[depth].shift;
        const uint64_t mask = attributes_[depth].mask, *codes = step.codes.data(), *keys = table.keys.data();
        const int32_t *sizes = table.sizes.data();
        const auto prefix_of = [=](uint64_t key) { return (key >> shift & ~mask) | codes[key >> shift & mask]; };
        budget_ -= static_cast<int64_t>(table.rows);
        large_.clear(), small_.clear();
        uint64_t next = table.rows ? prefix_of(keys[0]) : 0;
        for (size_t start = 0, end; start < table.rows; start = end) {
            const uint64_t prefix = next;
            int64_t size = sizes[start];
            for (end = start + 1; end < table.rows && (next = prefix_of(keys[end])) == prefix; ++end) size += sizes[end];
            const Run run{static_cast<uint32_t>(start), static_cast<uint32_t>(end), static_cast<int32_t>(size)};
            if (size >= smallest_) {
                large_.push_back(run);
                continue;
            }
            small_.push_back(run);
            lost.records += size;
            for (size_t i = start; i < end; ++i) lost.cost += sizes[i] * (table.costs[i] + step.added[keys[i] >> shift & mask]);
        }
    }

    static uint64_t code_of(uint64_t key, const Attribute &attribute) { return key >> attribute.shift & attribute.mask; }

    // Note what the steps of an attribute will add to the cost of what is lost.
    void note(const Table &table, size_t j, double *rises) {
        const Attribute &attribute = attributes_[j];
        if (small_.empty() || attribute.maps.empty()) return;
        counts_.assign(steps_[j][0].codes.size(), 0);
        for (const Run &run : small_)
            for (size_t i = run.start; i < run.end; ++i) counts_[code_of(table.keys[i], attribute)] += table.sizes[i];
        for (size_t step = 1; step < steps_[j].size(); ++step)
            for (size_t code = 0; code < counts_.size(); ++code)
                rises[step] += static_cast<double>(counts_[code]) * steps_[j][step].added[code];
    }

    // Write the large runs to another table, at a step of an attribute.
    void raise(Table &from, size_t depth, size_t number) {
        const Attribute &attribute = attributes_[depth];
        const Step &step = steps_[depth][number];
        Table &to = tables_[depth];
        to.made_from(from);
        if (depth + 1 == attributes_.size()) return gather(from, to, attribute, step);
        for (const Run &run : small_) std::fill(to.into.data() + run.start, to.into.data() + run.end, NONE);
        for (const Run &run : large_) {
            const uint64_t code = step.codes[code_of(from.keys[run.start], attribute)] << attribute.shift;
            if (number == 0)
                for (size_t row = run.start; row < run.end; ++row) add(from, to, row, from.keys[row], 0.0);
            else
                merge(from, to, run, attribute, step, code);
        }
    }

    static void add(const Table &from, Table &to, size_t row, uint64_t key, double added) {
        to.keys[to.rows] = key;
        to.sizes[to.rows] = from.sizes[row];
        to.costs[to.rows] = from.costs[row] + added;
        to.into[row] = static_cast<uint32_t>(to.rows++);
    }

    // A run up to the last attribute is one class.
    void gather(Table &from, Table &to, const Attribute &attribute, const Step &step) {
        if constexpr (STRIDE == LISTED) {
            list_values(from, adder_);
            to.held.clear(), to.firsts.assign(1, 0);
            for (const Run &run : large_) {
                adder_.add(from.held.data() + from.firsts[run.start], from.firsts[run.end] - from.firsts[run.start]);
                adder_.finish(to.held);
                to.firsts.push_back(static_cast<uint32_t>(to.held.size()));
            }
        } else {
            count_values<STRIDE>(from);
            if (to.values.size() < large_.size() * STRIDE) to.values.resize(large_.size() * STRIDE);
            add_runs<STRIDE>(from.values.data(), large_.data(), large_.size(), to.values.data());
        }
        to.counted = true;
        for (const Run &run : large_) {
            to.sizes[to.rows] = run.size;
            to.costs[to.rows++] = from.costs[run.start] + step.added[code_of(from.keys[run.start], attribute)];
        }
    }

    void merge(const Table &from, Table &to, const Run &run, const Attribute &attribute, const Step &step, uint64_t code) {
        const Entry *entries = sorted(from.keys.data(), run, attribute.mask << attribute.shift, code);
        for (size_t i = 0; i < run.end - run.start; ++i) {
            const size_t row = entries[i].row;
            if (i && entries[i].key == entries[i - 1].key) {
                to.sizes[to.rows - 1] += from.sizes[row];
                to.into[row] = static_cast<uint32_t>(to.rows - 1);
            } else {
                add(from, to, row, entries[i].key, step.added[code_of(from.keys[row], attribute)]);
            }
        }
    }

    // Return the rows of a run, ascending by their new keys.
    const Entry *sorted(const uint64_t *keys, const Run &run, uint64_t field, uint64_t code) {
        const size_t number = run.end - run.start;
        if (entries_.size() < number) entries_.resize(number);
        Entry *entries = entries_.data();
        uint64_t before = 0;
        bool ordered = true;
        for (size_t i = 0; i < number; ++i) {
            const uint64_t key = (keys[run.start + i] & ~field) | code;
            ordered = ordered && before <= key;
            before = key;
            entries[i] = {key, static_cast<uint32_t>(run.start + i)};
        }
        if (!ordered) shoal::merge_runs(entries, number);
        return entries;
    }

    const std::vector<Attribute> attributes_;
    const int64_t smallest_;
    const double loss_;
    int64_t budget_;            // rows that may be looked at
    Adder adder_;
    std::vector<Table> tables_; // by attribute: at its level
    std::vector<Lost> lost_;    // and what is not in these tables
    std::vector<std::vector<Step>> steps_;
    std::vector<size_t> first_; // by attribute: the place of its steps among all steps
    std::vector<Run> large_, small_;
    std::vector<int64_t> counts_;
    std::vector<Entry> entries_;
};

template <size_t STRIDE>
Table table_of(int64_t rows, int target, const uint64_t *keys, const int64_t *counts, const double *costs) {
    Table table;
    const uint64_t mask = (uint64_t(1) << target) - 1;
    for (int64_t i = 0; i < rows; ++i) {
        const uint64_t key = keys[i] & ~mask;
        if (!table.rows || table.keys.back() != key) {
            table.keys.push_back(key), table.sizes.push_back(0), table.costs.push_back(costs[i]);
            table.firsts.push_back(static_cast<uint32_t>(table.held.size()));
            table.values.resize(++table.rows * STRIDE, 0);
        }
        table.sizes.back() += static_cast<int32_t>(counts[i]);
        if constexpr (STRIDE == LISTED)
            table.held.push_back({static_cast<int32_t>(keys[i] & mask), static_cast<int32_t>(counts[i])});
        else
            table.values[(table.rows - 1) * STRIDE + (keys[i] & mask)] += static_cast<int32_t>(counts[i]);
    }
    table.firsts.push_back(static_cast<uint32_t>(table.held.size()));
    table.counted = true;
    return table;
}

template <size_t STRIDE>
int64_t screened(const Box &box, const Ground &ground, std::vector<shoal::Order> orders, Frontier &hunt) {
    Histograms<STRIDE> histograms(static_cast<size_t>(box.values), ground);
    shoal::Removal<Histograms<STRIDE>> removal(histograms, std::move(orders), box.loss);
    std::vector<Class> large;
    const auto beaten = [&](int64_t lost, double excess) { return hunt.beaten(lost, excess); };
    const auto visit = [&](Table &table, int64_t lost, double excess) {
        large.clear();
        histograms.at(table);
        for (size_t i = 0; i < table.rows; ++i)
            large.push_back({uint32_t(i), uint32_t(i + 1), table.sizes[i], table.costs[i], 0.0, 0.0});
        const shoal::Excess least = removal.least(large, lost, excess, beaten);
        hunt.force(lost + removal.forced().records, excess + removal.forced().cost);
        if (std::isinf(least.cost)) hunt.failed();
        hunt.offer(least, removal.lost());
    };
    Table table = table_of<STRIDE>(box.rows, box.target, box.keys, box.counts, box.costs);
    Pruned<STRIDE> walk(box.attributes, static_cast<size_t>(box.values), box.smallest, box.loss, box.budget);
    const bool finished = walk.run(table, hunt, visit);
    *box.looks = box.budget - walk.left();
    return finished ? hunt.finish() : -1;
}

} // namespace

// As shoal_screen_runs, for at most 2^31 - 1 records. Distances are sums over `ranges` of values, see Ground; of a sensitive
// attribute of more than 64 `values` the equal one. Returns -1 if more than `budget` rows would have to be looked at;
// `looks` is how many were.
SHOAL_API int64_t shoal_screen_values(int64_t rows, int64_t number, int64_t target, int64_t orders,
                                          int64_t smallest, int64_t allowed, double loss, double scale, double best,
                                          int64_t values, int64_t ordered, int64_t ranges, double unit, int64_t budget,
                                          const int32_t *starts, const int32_t *ends, const int32_t *stages,
                                          const double *asked, const int64_t *fractions, const uint64_t *keys, const int64_t *counts,
                                          const double *costs, const int32_t *steps, const int32_t *shifts,
                                          const int32_t *bits, const int64_t *lengths, const int32_t *maps,
                                          const double *changes, const double *floors, int64_t *found, double *bounds,
                                          int64_t *looks) {
    Ground ground{{}, unit, ordered != 0};
    for (int32_t i = 0; i < ranges; ++i) ground.ranges.emplace_back(starts[i], ends[i]);
    Frontier hunt(number, steps, floors, std::accumulate(counts, counts + rows, int64_t(0)), allowed, scale, best,
                  found, bounds);
    const Box box{rows, int32_t(target), int32_t(values), smallest, budget, looks, loss, keys, counts, costs,
                  shoal::attributes_of(number, steps, shifts, bits, lengths, maps, changes)};
    const auto screen = values <= 4    ? screened<4>
                        : values <= 8  ? screened<8>
                        : values <= 16 ? screened<16>
                        : values <= 32 ? screened<32>
                        : values <= 64 ? screened<64>
                                       : screened<LISTED>;
    return screen(box, ground, shoal::orders_of(orders, stages, asked, fractions), hunt);
}
