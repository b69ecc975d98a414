package propose

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/envs/mcp"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
)

// Options say what is to be written, by whom, and for which server.
type Options struct {
	Env         rl.EnvConfig // its mcp, max_turns, episode_timeout
	Writer      Model
	Solver      Model // plays each task; without a model nobody does
	Out         string
	About       string // what the agent is for, in a person's words; may be empty
	Tasks       int
	Eval        float64 // share of the tasks that are for evaluation
	Batch       int     // tasks asked for at once
	Tries       int     // of the solver
	Concurrency int     // calls at once
	MaxCalls    int     // of models, in all; 0: any number
	Temperature float64
	ReplyTokens int
	Timeout     time.Duration // of one call
	Seed        uint64
	Say         func(format string, args ...any) // hears how it goes
}

// Report is what was come to.
type Report struct {
	Tasks   int            `json:"tasks"`
	Eval    int            `json:"eval"` // of them
	ByKind  map[string]int `json:"by_kind"`
	Batches int            `json:"batches"`
	Refused map[string]int `json:"refused,omitempty"` // tasks that do not count, by why
	Invalid int            `json:"invalid_replies"`   // with something wrong
	Calls   int            `json:"calls"`             // of models, recorded ones included
	Spent   rl.Spent       `json:"spent"`             // of the writer and the verifier
	Server  string         `json:"server"`
}

const (
	maxAsks   = 3  // of one batch
	maxBarren = 6  // batches in a row that bring no task
	shown     = 40 // of the goals so far that the writer is shown
)

type proposer struct {
	Options
	journal  *journal
	writer   *reward.Client
	verifier *reward.Client
	solver   *policy.Client
	servers  *mcp.Servers
	spec     envs.Spec
	files    bool // tasks may begin with files
	written  int  // tasks in the file

	mu     sync.Mutex
	out    int // calls under way
	report Report

	tasks  []mcp.Task
	known  known
	used   map[string]int // how often tasks take a tool
	asked  uint64         // questions put so far
	barren int
	why    string // the last that was written does not count
}

// Run writes tasks to o.Out, and what they cost to a journal beside it. Errors: Conflict when the file there is another one's work,
// Exhausted when the models do not come to so many tasks or calls are at their limit (what there is, is written), those of the models
// and of the server.
func Run(ctx context.Context, o Options) (Report, error) {
	j, err := openJournal(o.Out + ".calls")
	if err != nil {
		return Report{}, err
	}
	defer j.close()
	written, err := ours(o.Out, j)
	if err != nil {
		return Report{}, err
	}
	// The solver has the time for a call that the agent has; Timeout is a model's.
	o.Env.MCP.CallTimeout = cmp.Or(o.Env.MCP.CallTimeout, o.Env.TurnTimeout)
	servers, err := mcp.Open(ctx, o.Env.MCP)
	if err != nil {
		return Report{}, err
	}
	defer servers.Close()
	p := &proposer{
		Options: o, journal: j, writer: o.Writer.client("writer", o), verifier: o.Solver.client("solver", o), servers: servers, spec: servers.Spec(), written: written,
		files: mcp.HasDirectory(o.Env.MCP), used: map[string]int{}, report: Report{Server: servers.Name, ByKind: map[string]int{}, Refused: map[string]int{}},
	}
	if o.Solver.Model != "" {
		p.solver = policy.New(policy.Options{URL: o.Solver.URL, APIKey: o.Solver.Key, Concurrency: max(o.Concurrency, 1)})
	}
	p.known.alike(exampleGoal) // weak writers copy it
	for err == nil && len(p.tasks) < o.Tasks {
		err = p.batch(ctx)
	}
	if err == nil || rl.KindOf(err) == rl.Exhausted && len(p.tasks) >= p.written {
		err = errors.Join(err, p.write())
	}
	p.report.Calls, p.report.Spent = j.calls(), j.spent()
	return p.report, err
}

// seed is the next question's.
func (p *proposer) seed() uint64 {
	p.asked++
	return rl.Seed(p.Seed, "propose", p.asked)
}

// batch asks for some tasks, and takes in those that count.
func (p *proposer) batch(ctx context.Context) error {
	d := p.wanted()
	n := min(p.Batch, p.quota(d)-p.report.ByKind[d.name])
	q := p.question(n, d, p.focus(), p.goals())
	found, from, err := p.heed(ctx, q)
	if err != nil {
		return err
	}
	p.report.Batches++
	var all []*candidate
	for _, w := range found[:min(len(found), n)] {
		if p.known.alike(w.Goal) {
			p.refuse("like another task")
			continue
		}
		t := w.task()
		t.Kind, t.Origin = d.name, &mcp.Origin{Model: from.model, Prompt: promptVersion, Call: from.call, Server: p.report.Server, Tools: w.Tools}
		all = append(all, &candidate{task: t, answer: w.Answer})
	}
	if err := p.solve(ctx, all); err != nil {
		return err
	}
	return p.take(all, d)
}

// take takes in the tasks of a batch that count.
func (p *proposer) take(all []*candidate, d difficulty) error {
	before := len(p.tasks)
	for _, c := range all {
		if c.refused != "" {
			p.refuse(c.refused)
			continue
		}
		for _, tool := range c.task.Origin.Tools {
			p.used[tool]++
		}
		c.task.Split = rl.Train
		if n := float64(len(p.tasks)); int((n+1)*p.Eval) > int(n*p.Eval) { // spread evenly
			c.task.Split = rl.Eval
			p.report.Eval++
		}
		p.report.ByKind[d.name]++
		p.tasks = append(p.tasks, c.task)
	}
	p.report.Tasks = len(p.tasks)
	if p.Say != nil {
		p.Say("%d of %d tasks: %s, %d new of %d written", len(p.tasks), p.Tasks, d.name, len(p.tasks)-before, len(all))
	}
	if p.barren++; len(p.tasks) > before {
		p.barren = 0
		if len(p.tasks) < p.written { // this start has not come to where the last one was
			return nil
		}
		return p.write()
	}
	if p.barren == maxBarren {
		return rl.Errorf(rl.Exhausted, "writer", "%d batches in a row have brought no task that counts; there are %d of %d; the last: %.300s", maxBarren, len(p.tasks), p.Tasks, p.why)
	}
	return nil
}

// refuse notes that a task does not count.
func (p *proposer) refuse(why string) {
	p.report.Refused[why]++
	p.why = why
}

// source is where a batch comes from.
type source struct{ model, call string }

// heed asks a question until its reply has a task that is as it should be, maxAsks times at most; then there are none. What is wrong in a
// reply costs no other task of it.
func (p *proposer) heed(ctx context.Context, q reward.Question) (found []written, from source, err error) {
	for range maxAsks {
		reply, err := p.ask(ctx, p.writer, q)
		if err != nil {
			return nil, from, err
		}
		found, wrong := read(reply, p.names(), p.files, p.servers.Suits)
		if wrong != nil {
			p.report.Invalid++
			p.why = wrong.Error()
		}
		if len(found) > 0 {
			return found, source{cmp.Or(reply.Model, q.Model), identity(q)}, nil
		}
		q = again(q, reply, wrong)
	}
	return nil, from, nil
}
