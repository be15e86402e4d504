--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: peerveil_budget; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.peerveil_budget (
    id integer NOT NULL,
    dataset text NOT NULL,
    unit text NOT NULL,
    epsilon double precision NOT NULL,
    delta double precision NOT NULL,
    rho double precision,
    omega double precision,
    "order" double precision,
    opened text NOT NULL
);


--
-- Name: peerveil_budget_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.peerveil_budget_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: peerveil_budget_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.peerveil_budget_id_seq OWNED BY public.peerveil_budget.id;


--
-- Name: peerveil_charge; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.peerveil_charge (
    id integer NOT NULL,
    budget integer NOT NULL,
    release text NOT NULL,
    charged text NOT NULL,
    epsilon double precision,
    rho double precision NOT NULL,
    omega double precision,
    quantity text NOT NULL,
    unit text NOT NULL,
    mechanism text NOT NULL,
    software text NOT NULL,
    key text,
    digest text
);


--
-- Name: peerveil_charge_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.peerveil_charge_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: peerveil_charge_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.peerveil_charge_id_seq OWNED BY public.peerveil_charge.id;


--
-- Name: peerveil_ledger; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.peerveil_ledger (
    schema_version integer NOT NULL
);


--
-- Name: peerveil_ledger_schema_version_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.peerveil_ledger_schema_version_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: peerveil_ledger_schema_version_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.peerveil_ledger_schema_version_seq OWNED BY public.peerveil_ledger.schema_version;


--
-- Name: peerveil_budget id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.peerveil_budget ALTER COLUMN id SET DEFAULT nextval('public.peerveil_budget_id_seq'::regclass);


--
-- Name: peerveil_charge id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.peerveil_charge ALTER COLUMN id SET DEFAULT nextval('public.peerveil_charge_id_seq'::regclass);


--
-- Name: peerveil_ledger schema_version; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.peerveil_ledger ALTER COLUMN schema_version SET DEFAULT nextval('public.peerveil_ledger_schema_version_seq'::regclass);


--
-- Data for Name: peerveil_budget; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.peerveil_budget VALUES (1, 'conf2025', 'reviewer', 12, 1e-06, NULL, NULL, 3.4533146266510144, '2026-11-16T00:22:13Z');
INSERT INTO public.peerveil_budget VALUES (2, 'conf2025', 'review', 9, 1e-06, NULL, NULL, 4.104021104110579, '2026-11-16T00:22:14Z');
INSERT INTO public.peerveil_budget VALUES (3, 'conf2026', 'reviewer', 3, 0, NULL, NULL, NULL, '2026-11-16T00:22:14Z');


--
-- Data for Name: peerveil_charge; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.peerveil_charge VALUES (1, 1, '0000000000005eed', '2026-11-16T00:22:14Z', 0.5, 0.125, NULL, 'ratings', 'reviewer', '{"name": "laplace", "epsilon": null, "scale": 27.000000000000075}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '00c89cf33c91bff7bfe1f66d89e4d73ef31e47f9a9071610f897e3c493ab722e');
INSERT INTO public.peerveil_charge VALUES (2, 2, '0000000000005eed', '2026-11-16T00:22:14Z', 0.16666666666666688, 0.013888888888888925, NULL, 'ratings', 'reviewer', '{"name": "laplace", "epsilon": null, "scale": 27.000000000000075}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '00c89cf33c91bff7bfe1f66d89e4d73ef31e47f9a9071610f897e3c493ab722e');
INSERT INTO public.peerveil_charge VALUES (3, 1, '0000000000005eee', '2026-11-16T00:22:14Z', NULL, 0.05, NULL, 'miscalibration', 'reviewer', '{"name": "gaussian", "rho": null, "epsilon": null, "delta": null, "scale": 23.73464415855728}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '00c89cf33c91bff7bfe1f66d89e4d73ef31e47f9a9071610f897e3c493ab722e');
INSERT INTO public.peerveil_charge VALUES (4, 2, '0000000000005eee', '2026-11-16T00:22:14Z', NULL, 0.008333333333333325, NULL, 'miscalibration', 'reviewer', '{"name": "gaussian", "rho": null, "epsilon": null, "delta": null, "scale": 23.73464415855728}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '00c89cf33c91bff7bfe1f66d89e4d73ef31e47f9a9071610f897e3c493ab722e');
INSERT INTO public.peerveil_charge VALUES (5, 1, '0000000000005eef', '2026-11-16T00:22:14Z', 0.6250000000000006, 0.19531250000000033, NULL, 'ratings', 'review', '{"name": "histogram", "epsilon": null, "scale": 16.0, "bins": null}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '00c89cf33c91bff7bfe1f66d89e4d73ef31e47f9a9071610f897e3c493ab722e');
INSERT INTO public.peerveil_charge VALUES (6, 2, '0000000000005eef', '2026-11-16T00:22:14Z', 0.25, 0.03125, NULL, 'ratings', 'review', '{"name": "histogram", "epsilon": null, "scale": 16.0, "bins": null}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '00c89cf33c91bff7bfe1f66d89e4d73ef31e47f9a9071610f897e3c493ab722e');
INSERT INTO public.peerveil_charge VALUES (7, 1, '0000000000005ef0', '2026-11-16T00:22:15Z', 0.5, 0.125, NULL, 'ratings in 2 groups', 'reviewer', '{"name": "laplace", "epsilon": 0.25, "scale": null}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '00c89cf33c91bff7bfe1f66d89e4d73ef31e47f9a9071610f897e3c493ab722e');
INSERT INTO public.peerveil_charge VALUES (8, 2, '0000000000005ef0', '2026-11-16T00:22:15Z', 0.20000000000000012, 0.020000000000000025, NULL, 'ratings in 2 groups', 'reviewer', '{"name": "laplace", "epsilon": 0.25, "scale": null}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '00c89cf33c91bff7bfe1f66d89e4d73ef31e47f9a9071610f897e3c493ab722e');
INSERT INTO public.peerveil_charge VALUES (9, 1, '0000000000005ef1', '2026-11-16T00:22:15Z', NULL, 0.1, 8, 'ratings', 'reviewer', '{"name": "sinh-normal", "rho": null, "omega": null, "delta": null, "scale": 69.71370023173378, "bound": 432.00000000000193}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '00c89cf33c91bff7bfe1f66d89e4d73ef31e47f9a9071610f897e3c493ab722e');
INSERT INTO public.peerveil_charge VALUES (10, 2, '0000000000005ef1', '2026-11-16T00:22:15Z', NULL, 0.016666666666666677, 23.999999999999964, 'ratings', 'reviewer', '{"name": "sinh-normal", "rho": null, "omega": null, "delta": null, "scale": 69.71370023173378, "bound": 432.00000000000193}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '00c89cf33c91bff7bfe1f66d89e4d73ef31e47f9a9071610f897e3c493ab722e');
INSERT INTO public.peerveil_charge VALUES (11, 3, '0000000000005ef2', '2026-11-16T00:22:15Z', 1, 0.5, NULL, 'ratings', 'reviewer', '{"name": "laplace", "epsilon": null, "scale": 25.500000000000064}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '97ae2301c8c484d9cab9b7f93f51a60de8c8cccbc1eb9725250e2ff0726b9ffd');
INSERT INTO public.peerveil_charge VALUES (12, 3, '0000000000005ef3', '2026-11-16T00:22:15Z', 0.75, 0.28125, NULL, 'ratings', 'reviewer', '{"name": "histogram", "epsilon": null, "scale": 13.333333333333334, "bins": null}', 'peerveil 0.1.0', 'b8e2d3f0507678a0', '97ae2301c8c484d9cab9b7f93f51a60de8c8cccbc1eb9725250e2ff0726b9ffd');


--
-- Data for Name: peerveil_ledger; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.peerveil_ledger VALUES (1);


--
-- Name: peerveil_budget_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.peerveil_budget_id_seq', 3, true);


--
-- Name: peerveil_charge_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.peerveil_charge_id_seq', 12, true);


--
-- Name: peerveil_ledger_schema_version_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.peerveil_ledger_schema_version_seq', 1, false);


--
-- Name: peerveil_budget peerveil_budget_dataset_unit_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.peerveil_budget
    ADD CONSTRAINT peerveil_budget_dataset_unit_key UNIQUE (dataset, unit);


--
-- Name: peerveil_budget peerveil_budget_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.peerveil_budget
    ADD CONSTRAINT peerveil_budget_pkey PRIMARY KEY (id);


--
-- Name: peerveil_charge peerveil_charge_budget_release_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.peerveil_charge
    ADD CONSTRAINT peerveil_charge_budget_release_key UNIQUE (budget, release);


--
-- Name: peerveil_charge peerveil_charge_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.peerveil_charge
    ADD CONSTRAINT peerveil_charge_pkey PRIMARY KEY (id);


--
-- Name: peerveil_ledger peerveil_ledger_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.peerveil_ledger
    ADD CONSTRAINT peerveil_ledger_pkey PRIMARY KEY (schema_version);


--
-- Name: ix_peerveil_charge_budget; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_peerveil_charge_budget ON public.peerveil_charge USING btree (budget);


--
-- Name: peerveil_charge peerveil_charge_budget_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.peerveil_charge
    ADD CONSTRAINT peerveil_charge_budget_fkey FOREIGN KEY (budget) REFERENCES public.peerveil_budget(id);


--
-- PostgreSQL database dump complete
--
